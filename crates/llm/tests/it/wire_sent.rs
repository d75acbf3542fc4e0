//! Requests to Anthropic and Gemini over a socket: path, headers and body.

use std::sync::Arc;

use quillet_core::chat::{ChatModel, ModelErrorKind};
use quillet_llm::{Anthropic, Gemini, Http, Protocol, Provider};
use quillet_test_support::scripted::{ScriptedServer, answer};
use serde_json::{Value, json};

use crate::{CANARY, ask, config, request};

const SAID: &str =
    r#"{"type":"message","content":[{"type":"text","text":"hi"}],"stop_reason":"end_turn"}"#;
const GENERATED: &str =
    r#"{"candidates":[{"content":{"parts":[{"text":"hi"}]},"finishReason":"STOP"}]}"#;

/// Sends one request and compares its request line, headers and body.
async fn check(wire: Arc<dyn Protocol>, said: &str, line: &str, headers: &[&str], sent: Value) {
    let server = ScriptedServer::start(vec![answer(200, "application/json", &[], said)]);
    let model = Provider::new(Http::default(), wire, config(&server)).unwrap();
    let (reply, error) = ask(&model).await;
    assert!(error.is_none(), "{error:?}");
    assert_eq!(reply.choices[0].text, "hi");
    let seen = server.seen().remove(0);
    assert!(seen.head.starts_with(line), "{}", seen.head);
    for header in headers {
        let header = header.replace("KEY", CANARY);
        assert!(
            seen.head.contains(&header),
            "{header} is not in {}",
            seen.head
        );
    }
    let body: Value = serde_json::from_str(&seen.body).unwrap();
    assert_eq!(body, sent);
}

#[tokio::test]
async fn anthropic_is_asked_in_its_own_way() {
    let said = json!([{"type": "text", "text": "hi"}]);
    let sent = json!({"model": "small", "max_tokens": 4096, "stream": true,
        "messages": [{"role": "user", "content": said}]});
    let headers = ["x-api-key: KEY\r\n", "anthropic-version: 2023-06-01\r\n"];
    check(
        Arc::new(Anthropic),
        SAID,
        "POST /v1/messages ",
        &headers,
        sent,
    )
    .await;
}

#[tokio::test]
async fn gemini_is_asked_in_its_own_way() {
    let line = "POST /v1/models/small:streamGenerateContent?alt=sse ";
    let sent = json!({"contents": [{"role": "user", "parts": [{"text": "hi"}]}]});
    check(
        Arc::new(Gemini),
        GENERATED,
        line,
        &["x-goog-api-key: KEY\r\n"],
        sent,
    )
    .await;
}

#[tokio::test]
async fn betas_of_the_request_join_those_of_the_configuration() {
    let server = ScriptedServer::start(vec![answer(200, "application/json", &[], SAID)]);
    let mut config = config(&server);
    config.headers = vec![("anthropic-beta".to_owned(), "configured".into())];
    let model = Provider::new(Http::default(), Arc::new(Anthropic), config).unwrap();
    let mut request = request();
    request
        .options
        .extra
        .insert("betas".to_owned(), json!(["a", "b"]));
    assert!(model.stream(request.clone()).await.is_ok());
    let head = server.seen().remove(0).head;
    for beta in ["anthropic-beta: configured\r\n", "anthropic-beta: a,b\r\n"] {
        assert!(head.contains(beta), "{head}");
    }

    request
        .options
        .extra
        .insert("betas".to_owned(), json!("a\nb"));
    let error = model.stream(request).await.err().unwrap();
    assert_eq!(error.kind, ModelErrorKind::Refused);
    assert!(error.message.contains("anthropic-beta"), "{error}");
    assert_eq!(server.seen().len(), 1, "nothing was sent");
}
