//! The baseline proxies for `benches/gateway`. They consist of axum and hyper's client only.
//!
//! `bench_proxy bytes URL` forwards requests to URL and responses to the client unchanged.
//! `bench_proxy rewrite URL` parses and serializes all JSON again: requests, complete responses and
//! each `data:` line of a stream. Both print their address.

use std::error::Error;
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, BodyDataStream};
use axum::extract::Request;
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE, HOST, TRANSFER_ENCODING};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::serve::ListenerExt;
use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream;
use http_body_util::BodyExt;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::Value;
use tokio::net::TcpListener;

type Failure = Box<dyn Error + Send + Sync>;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (rewrites, upstream) = match arguments.as_slice() {
        ["bytes", url] => (false, *url),
        ["rewrite", url] => (true, *url),
        _ => return Err("usage: bench_proxy bytes URL | rewrite URL".into()),
    };
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    let proxy = Arc::new(Proxy {
        upstream: upstream.trim_end_matches('/').to_owned(),
        client: Client::builder(TokioExecutor::new()).build(connector),
        rewrites,
    });
    let answer = async move |request: Request| match proxy.pass(request).await {
        Ok(answer) => answer,
        Err(error) => (StatusCode::BAD_GATEWAY, error.to_string()).into_response(),
    };
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    println!("{}", listener.local_addr()?);
    let listener = listener.tap_io(|stream| drop(stream.set_nodelay(true)));
    axum::serve(listener, Router::new().fallback(answer)).await?;
    Ok(())
}

struct Proxy {
    upstream: String,
    client: Client<HttpConnector, Body>,
    rewrites: bool,
}

impl Proxy {
    /// Forwards a request to the same path of the provider.
    async fn pass(&self, mut request: Request) -> Result<Response, Failure> {
        let uri = request.uri();
        let path = uri.path_and_query().map_or("/", |path| path.as_str());
        let address: Uri = format!("{}{path}", self.upstream).parse()?;
        *request.uri_mut() = address;
        request.headers_mut().remove(HOST);
        if !self.rewrites {
            return Ok(self.client.request(request).await?.map(Body::new));
        }
        let (mut head, body) = request.into_parts();
        let body = rewritten(&body.collect().await?.to_bytes())?;
        forget_length(&mut head.headers);
        let request = Request::from_parts(head, body.into());
        let (mut head, body) = self.client.request(request).await?.into_parts();
        forget_length(&mut head.headers);
        let kind = head.headers.get(CONTENT_TYPE);
        let body = match kind.map(|kind| kind.as_bytes()) {
            Some(b"text/event-stream") => rewritten_events(Body::new(body).into_data_stream()),
            Some(b"application/json") => rewritten(&body.collect().await?.to_bytes())?.into(),
            _ => Body::new(body),
        };
        Ok(Response::from_parts(head, body))
    }
}

/// Removes the length, because serialized JSON has another one. hyper sets the new header.
fn forget_length(headers: &mut HeaderMap) {
    headers.remove(CONTENT_LENGTH);
    headers.remove(TRANSFER_ENCODING);
}

fn rewritten(json: &[u8]) -> serde_json::Result<Vec<u8>> {
    serde_json::to_vec(&serde_json::from_slice::<Value>(json)?)
}

/// Forwards every line as soon as it is complete. An error of the provider ends the body with an
/// error.
fn rewritten_events(events: BodyDataStream) -> Body {
    let rewritten = stream::unfold((events, Vec::new()), async |(mut events, mut rest)| {
        let part = match events.next().await? {
            Ok(part) => part,
            Err(error) => return Some((Err(Failure::from(error)), (events, rest))),
        };
        rest.extend_from_slice(&part);
        let whole = rest.iter().rposition(|&byte| byte == b'\n');
        let whole = whole.map_or(0, |end| end + 1);
        let mut out = Vec::with_capacity(whole);
        for line in rest[..whole].split_inclusive(|&byte| byte == b'\n') {
            if let Err(error) = rewrite_line(line, &mut out) {
                return Some((Err(error.into()), (events, rest)));
            }
        }
        rest.drain(..whole);
        Some((Ok(Bytes::from(out)), (events, rest)))
    });
    Body::from_stream(rewritten)
}

fn rewrite_line(line: &[u8], out: &mut Vec<u8>) -> serde_json::Result<()> {
    match line.strip_prefix(b"data: ") {
        Some(data) if data.starts_with(b"{") => {
            let event: Value = serde_json::from_slice(data)?;
            out.extend_from_slice(b"data: ");
            serde_json::to_writer(&mut *out, &event)?;
            out.push(b'\n');
        }
        _ => out.extend_from_slice(line),
    }
    Ok(())
}
