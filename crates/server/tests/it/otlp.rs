//! Traces sent to a collector over a real socket.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use quillet_core::trace::{SpanKind, Tracer};
use quillet_host::{OtlpConfig, OtlpError, OtlpSink};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

type Posts = mpsc::UnboundedReceiver<(HeaderMap, Value)>;

/// Starts a collector that responds with this status. Returns its address and the received
/// requests.
async fn collector(status: StatusCode) -> (String, Posts) {
    let (sent, posts) = mpsc::unbounded_channel();
    let take = move |headers: HeaderMap, body: Bytes| {
        let body = serde_json::from_slice(&body).unwrap();
        sent.send((headers, body)).unwrap();
        async move { status }
    };
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let router = Router::new().route("/v1/traces", post(take));
    tokio::spawn(async move { axum::serve(listener, router).await });
    (format!("http://{address}/v1/traces"), posts)
}

fn config(endpoint: String) -> OtlpConfig {
    OtlpConfig {
        endpoint,
        headers: vec![("x-key".into(), "canary".to_owned().into())],
        service: "shop".into(),
        attributes: vec![("deployment.environment".into(), "test".into())],
    }
}

fn run(sink: Arc<OtlpSink>) {
    let tracer = Tracer::new("00112233445566778899aabbccddeeff", sink, false);
    let root = tracer.span(SpanKind::Run, "invoke_agent shop", None);
    let call = tracer.span(SpanKind::Model, "chat m", root.id());
    call.set("gen_ai.usage.input_tokens", || 3);
    call.set("gen_ai.response.finish_reasons", || json!(["stop"]));
    call.fail("overloaded");
}

#[tokio::test]
async fn a_collector_gets_whole_traces() {
    let (endpoint, mut posts) = collector(StatusCode::OK).await;
    let sink = Arc::new(OtlpSink::start(&config(endpoint)).unwrap());
    run(sink.clone());
    sink.flush(Duration::from_secs(5)).await;
    let (headers, body) = posts.recv().await.unwrap();
    assert_eq!(headers["x-key"], "canary");
    let resource = &body["resourceSpans"][0];
    assert_eq!(
        resource["resource"]["attributes"][0],
        json!({"key": "service.name", "value": {"stringValue": "shop"}})
    );
    let spans = resource["scopeSpans"][0]["spans"].as_array().unwrap();
    let (root, call) = (&spans[0], &spans[1]);
    assert_eq!(root["traceId"], "00112233445566778899aabbccddeeff");
    assert_eq!((&root["kind"], &call["kind"]), (&json!(2), &json!(3)));
    assert_eq!(call["parentSpanId"], root["spanId"]);
    assert_eq!(call["status"], json!({"code": 2, "message": "overloaded"}));
    let attributes = call["attributes"].as_array().unwrap();
    assert!(
        attributes
            .contains(&json!({"key": "gen_ai.usage.input_tokens", "value": {"intValue": "3"}}))
    );
    assert!(
        attributes.contains(&json!({"key": "gen_ai.response.finish_reasons",
        "value": {"arrayValue": {"values": [{"stringValue": "stop"}]}}}))
    );
    let nanoseconds = |span: &Value, key: &str| span[key].as_str().unwrap().parse::<u64>().unwrap();
    assert!(nanoseconds(call, "endTimeUnixNano") >= nanoseconds(call, "startTimeUnixNano"));
    assert_eq!(sink.dropped(), 0);
}

#[tokio::test]
async fn what_a_collector_refuses_is_counted_and_nothing_waits_for_it() {
    let (endpoint, mut posts) = collector(StatusCode::SERVICE_UNAVAILABLE).await;
    let sink = Arc::new(OtlpSink::start(&config(endpoint)).unwrap());
    run(sink.clone());
    sink.flush(Duration::from_secs(5)).await;
    assert!(posts.recv().await.is_some());
    assert_eq!(sink.dropped(), 1);
}

#[tokio::test]
async fn what_cannot_be_sent_is_said_at_once_without_the_secret() {
    for endpoint in ["", "collector:4318", "ftp://h/v1/traces"] {
        let error = OtlpSink::start(&config(endpoint.into())).unwrap_err();
        assert!(
            matches!(error, OtlpError::Address(_)),
            "{endpoint}: {error}"
        );
    }
    let mut bad = config("http://127.0.0.1:1/v1/traces".into());
    bad.headers = vec![("a b".into(), "canary".to_owned().into())];
    let error = OtlpSink::start(&bad).unwrap_err();
    assert!(matches!(error, OtlpError::Header(_)), "{error}");
    assert!(!error.to_string().contains("canary"));
}
