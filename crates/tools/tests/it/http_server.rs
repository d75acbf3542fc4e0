//! A real HTTP server with the endpoints that the tests need.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Redirect, Response};
use axum::{Json, Router};
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// A server on a free local port.
pub(crate) struct HttpServer {
    pub(crate) address: SocketAddr,
    pub(crate) seen: Arc<Seen>,
}

#[derive(Default)]
pub(crate) struct Seen {
    /// Number of received requests.
    pub(crate) requests: AtomicUsize,
    /// Number of requests whose client disconnected before the response.
    pub(crate) left: AtomicUsize,
    /// Number of accepted connections.
    pub(crate) connections: AtomicUsize,
}

impl HttpServer {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Arc::new(Seen::default());
        let app = Router::new().fallback(answer).with_state(seen.clone());
        let counted = seen.clone();
        let listener = axum::serve::ListenerExt::tap_io(listener, move |_| {
            counted.connections.fetch_add(1, Ordering::SeqCst);
        });
        tokio::spawn(async move { axum::serve(listener, app).await });
        HttpServer { address, seen }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }
}

struct Leaving<'a>(&'a Seen);

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        self.0.left.fetch_add(1, Ordering::SeqCst);
    }
}

async fn answer(
    State(seen): State<Arc<Seen>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    seen.requests.fetch_add(1, Ordering::SeqCst);
    let query = uri.query().unwrap_or_default();
    match uri.path() {
        "/slow" => {
            let leaving = Leaving(&seen);
            tokio::time::sleep(Duration::from_secs(60)).await;
            std::mem::forget(leaving);
            "late".into_response()
        }
        "/translate/zh/en" => translate(&body),
        "/text" => "plain words".into_response(),
        "/text-json" => r#"{"a":1}"#.into_response(),
        "/nothing" => StatusCode::NO_CONTENT.into_response(),
        "/untyped" => Response::new(Body::from("[1,2]")),
        "/broken-json" => ([(header::CONTENT_TYPE, "application/json")], "{\"a\":").into_response(),
        "/not-utf8" => Response::new(Body::from(vec![0xff, 0xfe, 0x00])),
        "/error" => (StatusCode::INTERNAL_SERVER_ERROR, "boom ".repeat(1_000)).into_response(),
        "/huge" => Response::new(Body::from(vec![b'x'; 2 << 20])),
        "/endless" => endless(),
        "/to" => Redirect::temporary(&percent_decoded(query)).into_response(),
        "/found" => (
            StatusCode::FOUND,
            [(header::LOCATION, percent_decoded(query))],
        )
            .into_response(),
        "/searxng" => {
            Json(json!({"results": results(&uri, "content", "from searxng")})).into_response()
        }
        "/brave" => {
            let key = headers.get("x-subscription-token");
            let key = key.and_then(|key| key.to_str().ok()).unwrap_or_default();
            Json(json!({"web": {"results": results(&uri, "description", key)}})).into_response()
        }
        "/own" => Json(json!({"data": {"hits": own_results(&uri)}})).into_response(),
        "/loop" => Redirect::temporary("/loop").into_response(),
        _ => echo(&method, &uri, &headers, &body).into_response(),
    }
}

/// Three results in the format of search engines. Their titles are the URI of the request.
fn results(uri: &Uri, snippet: &str, text: &str) -> Value {
    let result = |n: u32| json!({"title": uri.to_string(), "url": format!("https://example.org/{n}"), snippet: text});
    [result(1), result(2), result(3)].into()
}

fn own_results(uri: &Uri) -> Value {
    let result = |n: u32| {
        json!({"name": uri.to_string(), "link": format!("https://example.org/{n}"),
        "text": "own text", "body": "whole"})
    };
    [json!({"junk": 1}), result(1), result(2)].into()
}

fn translate(body: &[u8]) -> Response {
    let asked: Value = serde_json::from_slice(body).unwrap_or_default();
    let code = asked["code"]
        .as_str()
        .unwrap_or_default()
        .replace("你好", "hello");
    Json(json!({"translated_code": code})).into_response()
}

fn endless() -> Response {
    let chunk = Bytes::from(vec![b'x'; 1 << 16]);
    let stream = futures_util::stream::repeat_with(move || Ok::<_, std::io::Error>(chunk.clone()));
    Response::new(Body::from_stream(stream))
}

fn echo(method: &Method, uri: &Uri, headers: &HeaderMap, body: &[u8]) -> Json<Value> {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    Json(json!({
        "method": method.as_str(),
        "uri": uri.to_string(),
        "body": serde_json::from_slice::<Value>(body).unwrap_or_default(),
        "type": header("content-type"),
        "request_id": header("x-request-id"),
        "authorization": header("authorization"),
        "own": header("x-own"),
    }))
}

fn percent_decoded(text: &str) -> String {
    text.replace("%3A", ":")
        .replace("%2F", "/")
        .replace("%3F", "?")
}
