//! Chats: formats, parameters, and models that fail or never reply.

use std::sync::Arc;
use std::time::Duration;

use quillet_core::chat::{ChatEvent, ModelError, ModelErrorKind};
use serde_json::{Value, json};

use crate::client::{Connection, parse};
use crate::test_model::{Script, TestModel, finish, hello, start, text};
use crate::test_server::{Setup, TestServer, eventually, start_with};

const BODY: &str = r#"{"variables":{"name":"Ada"}}"#;
const STREAM: &str = r#"{"variables":{"name":"Ada"},"stream":true}"#;

async fn with_model(script: Script) -> (TestServer, Arc<TestModel>) {
    let model = TestModel::new(script);
    let setup = Setup {
        model: Some(model.clone()),
        ..Setup::default()
    };
    (start_with(setup).await, model)
}

#[tokio::test]
async fn an_answer_has_openais_shape_at_both_addresses() {
    let (server, model) = with_model(Script::Says(hello())).await;
    for path in [
        "/api/chat/prompts/hello",
        "/api/prompts/hello/chat",
        "/api/v1/prompts/hello/chat",
    ] {
        let answer = server.post(path, BODY).await;
        assert_eq!(
            answer.json(),
            json!({
                "id": "chatcmpl-1", "object": "chat.completion", "created": 1_677_652_288, "model": "test-1",
                "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hello"}, "finish_reason": "stop"}],
                "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5},
            }),
            "{path}"
        );
    }
    let asked = model.requests.lock().unwrap()[0].clone();
    assert_eq!(asked.messages[0].content, "Hello Ada in go");
}

#[tokio::test]
async fn parameters_of_generation_reach_the_model() {
    let (server, model) = with_model(Script::Says(hello())).await;
    let body = json!({
        "model": "big", "variables": {"name": "Ada"}, "temperature": 0.5, "top_p": 0.9, "max_tokens": 7,
        "frequency_penalty": 1, "presence_penalty": -1, "stop": ["END"], "n": 2, "user": "u",
        "seed": 42, "response_format": {"type": "json_object"},
    });
    assert_eq!(
        server
            .post("/api/chat/prompts/hello", &body.to_string())
            .await
            .status,
        200
    );
    let asked = model.requests.lock().unwrap()[0].clone();
    assert_eq!(asked.model.as_deref(), Some("big"));
    let options = serde_json::to_value(&asked.options).unwrap();
    for (name, value) in body.as_object().unwrap() {
        if !["model", "variables"].contains(&name.as_str()) {
            let expected = value.as_f64().map_or(value.clone(), |_| value.clone());
            assert_eq!(options[name].as_f64(), expected.as_f64(), "{name}");
            assert!(value.is_number() || options[name] == *value, "{name}");
        }
    }
    assert_eq!(
        options.as_object().unwrap().len(),
        body.as_object().unwrap().len() - 2,
        "{options}"
    );
}

#[tokio::test]
async fn what_a_chat_cannot_take_is_400() {
    let (server, model) = with_model(Script::Says(hello())).await;
    for body in [
        json!({"messages": [{"role": "user", "content": "mine"}]}),
        json!({"temperature": "hot"}),
        json!({"stream": "yes"}),
        json!({"model": 7}),
    ] {
        let answer = server
            .post("/api/chat/prompts/hello", &body.to_string())
            .await;
        assert_eq!(
            (answer.status, answer.json()["error"].as_str()),
            (400, Some("request.body")),
            "{body}"
        );
    }
    let answer = server.post("/api/chat/prompts/hello", "{}").await;
    assert_eq!(
        (answer.status, answer.json()["missing"].clone()),
        (400, json!(["variables.name"]))
    );
    assert_eq!(
        server.post("/api/chat/prompts/helo", "{}").await.status,
        404
    );
    assert!(model.requests.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_stream_is_chunks_and_done() {
    let (server, _model) = with_model(Script::Says(hello())).await;
    let answer = server.post("/api/chat/prompts/hello", STREAM).await;
    assert_eq!(answer.header("content-type"), Some("text/event-stream"));
    assert_eq!(answer.header("cache-control"), Some("no-cache"));
    assert_eq!(answer.header("x-accel-buffering"), Some("no"));
    let events = answer.events();
    assert_eq!(events.last(), Some(&"[DONE]"));
    let chunks: Vec<Value> = events[..events.len() - 1]
        .iter()
        .map(|data| serde_json::from_str(data).unwrap())
        .collect();
    let expected = [
        json!([{"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": null}]),
        json!([{"index": 0, "delta": {"content": "Hel"}, "finish_reason": null}]),
        json!([{"index": 0, "delta": {"content": "lo"}, "finish_reason": null}]),
        json!([{"index": 0, "delta": {}, "finish_reason": "stop"}]),
        json!([]),
    ];
    for (chunk, choices) in chunks.iter().zip(expected) {
        assert_eq!(chunk["choices"], choices);
        assert_eq!(
            (&chunk["object"], &chunk["id"]),
            (&json!("chat.completion.chunk"), &json!("chatcmpl-1"))
        );
    }
    assert_eq!(chunks.len(), 5);
    assert_eq!(chunks[4]["usage"]["total_tokens"], 5);
}

#[tokio::test]
async fn calls_and_reasoning_have_their_members() {
    let call = |id: Option<&str>, name: Option<&str>, arguments: &str| ChatEvent::ToolCall {
        choice: 0,
        index: 0,
        id: id.map(str::to_owned),
        name: name.map(str::to_owned),
        arguments: arguments.into(),
    };
    let thought = ChatEvent::Reasoning {
        choice: 0,
        text: "hm".into(),
    };
    let events = vec![
        start(),
        thought,
        call(Some("c1"), Some("look"), "{\"a\""),
        call(None, None, ":1}"),
        finish(),
    ];
    let (server, _model) = with_model(Script::Says(events)).await;
    let message =
        server.post("/api/chat/prompts/hello", BODY).await.json()["choices"][0]["message"].clone();
    assert_eq!(
        message,
        json!({
            "role": "assistant", "content": null, "reasoning_content": "hm",
            "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{\"a\":1}"}}],
        })
    );
    let answer = server.post("/api/chat/prompts/hello", STREAM).await;
    let deltas: Vec<Value> = answer.events()[1..4]
        .iter()
        .map(|data| serde_json::from_str::<Value>(data).unwrap()["choices"][0]["delta"].clone())
        .collect();
    assert_eq!(deltas[0], json!({"reasoning_content": "hm"}));
    assert_eq!(deltas[1]["tool_calls"][0]["function"]["name"], "look");
    assert_eq!(
        deltas[2]["tool_calls"][0],
        json!({"index": 0, "function": {"arguments": ":1}"}})
    );
}

#[tokio::test]
async fn tool_failures_of_the_render_are_told_in_both_shapes() {
    let (server, _model) = with_model(Script::Says(hello())).await;
    let whole = server.post("/api/chat/prompts/uses.ill", "").await.json();
    assert_eq!(whole["warnings"][0]["tool"], "ill");
    let streamed = server
        .post("/api/chat/prompts/uses.ill", r#"{"stream":true}"#)
        .await;
    let first: Value = serde_json::from_str(streamed.events()[0]).unwrap();
    let second: Value = serde_json::from_str(streamed.events()[1]).unwrap();
    assert_eq!(
        (&first["warnings"][0]["code"], &second["warnings"]),
        (&json!("tool.remote"), &Value::Null)
    );
}

#[tokio::test]
async fn a_model_that_fails_before_its_first_word_is_502_streamed_or_not() {
    let kinds = [
        ModelErrorKind::Connect,
        ModelErrorKind::Timeout,
        ModelErrorKind::RateLimited,
        ModelErrorKind::Provider,
        ModelErrorKind::Refused,
        ModelErrorKind::Protocol,
    ];
    for kind in kinds {
        let mut error = ModelError::new(kind, "the provider is ill");
        error.status = Some(429);
        error.retry_after = Some(Duration::from_millis(1500));
        let (server, _model) = with_model(Script::Fails(error)).await;
        for body in [BODY, STREAM] {
            let answer = server.post("/api/chat/prompts/hello", body).await;
            assert_eq!(
                (answer.status, answer.json()["error"].as_str()),
                (502, Some(kind.code().as_str()))
            );
            assert_eq!(answer.json()["upstream_status"], 429);
            assert_eq!(answer.header("retry-after"), Some("2"));
        }
    }
}

#[tokio::test]
async fn without_a_model_a_chat_is_503_and_says_what_to_set() {
    let server = start_with(Setup {
        model: None,
        ..Setup::default()
    })
    .await;
    let answer = server.post("/api/chat/prompts/hello", BODY).await;
    assert_eq!(
        (answer.status, answer.json()["error"].as_str()),
        (503, Some("model.configuration"))
    );
    assert!(
        answer.json()["message"]
            .as_str()
            .unwrap()
            .contains("model.base_url")
    );
    assert_eq!(server.get("/readyz").await.json()["model"], Value::Null);
}

#[tokio::test]
async fn a_stream_that_is_cut_ends_with_an_error_and_without_done() {
    let (server, _model) = with_model(Script::Breaks(
        vec![start(), text("Hel")],
        ModelErrorKind::Cut,
    ))
    .await;
    let whole = server.post("/api/chat/prompts/hello", BODY).await;
    assert_eq!(
        (whole.status, whole.json()["error"].as_str()),
        (502, Some("model.cut"))
    );
    let streamed = server.post("/api/chat/prompts/hello", STREAM).await;
    assert_eq!(streamed.status, 200);
    let events = streamed.events();
    let last: Value = serde_json::from_str(events.last().unwrap()).unwrap();
    assert_eq!(last["error"]["type"], "model.cut", "{last}");
    assert_eq!(
        last["error"]["request_id"].as_str(),
        streamed.header("x-request-id")
    );
    assert!(!events.contains(&"[DONE]"), "{events:?}");
}

fn chat_request(body: &str) -> String {
    let length = body.len();
    format!(
        "POST /api/chat/prompts/hello HTTP/1.1\r\nhost: localhost\r\ncontent-length: {length}\r\n\r\n{body}"
    )
}

#[tokio::test]
async fn a_client_that_leaves_ends_the_call_to_the_model() {
    let hanging = Script::Hangs(vec![start(), text("Hel")]);
    // Disconnects before the first event, during a stream, and while a complete reply is collected.
    let cases = [
        (Script::Silent, BODY, None),
        (Script::Silent, STREAM, None),
        (hanging.clone(), STREAM, Some("Hel")),
        (hanging, BODY, None),
    ];
    for (script, body, wait_for) in cases {
        let (server, model) = with_model(script).await;
        let mut connection = Connection::open(server.address).await;
        connection.send(&chat_request(body)).await;
        if let Some(wanted) = wait_for {
            connection.read_until(wanted).await;
        }
        eventually("the model is asked", async || model.open() == 1).await;
        drop(connection);
        eventually("the call has ended", async || model.open() == 0).await;
    }
}

#[tokio::test]
async fn a_reader_that_stalls_stalls_the_model() {
    let (server, model) = with_model(Script::Floods).await;
    let mut connection = Connection::open(server.address).await;
    connection.send(&chat_request(STREAM)).await;
    connection.read_until("data: ").await;
    // Socket buffers hold some megabytes. When these buffers are full, no more events may be read
    // from the model.
    let taken = || model.taken.load(std::sync::atomic::Ordering::SeqCst);
    let mut before = 0;
    eventually("nothing more is taken", async || {
        tokio::time::sleep(Duration::from_millis(200)).await;
        let now = taken();
        let same = now == before;
        before = now;
        same
    })
    .await;
    assert!(
        taken() * 10_000 < 32 << 20,
        "{} pieces were read ahead",
        taken()
    );
}

#[tokio::test]
async fn a_stalled_reader_is_given_up() {
    let model = TestModel::new(Script::Floods);
    let mut setup = Setup {
        model: Some(model.clone()),
        ..Setup::default()
    };
    setup.config.write_time = Duration::from_millis(100);
    let server = start_with(setup).await;
    let mut connection = Connection::open(server.address).await;
    connection.send(&chat_request(STREAM)).await;
    eventually("the model is asked", async || model.open() == 1).await;
    eventually("the call has ended", async || model.open() == 0).await;
}

#[tokio::test]
async fn silence_is_filled_with_comments() {
    for script in [Script::Silent, Script::Hangs(vec![start()])] {
        let mut setup = Setup {
            model: Some(TestModel::new(script)),
            ..Setup::default()
        };
        setup.config.ping_time = Duration::from_millis(20);
        let server = start_with(setup).await;
        let mut connection = Connection::open(server.address).await;
        connection.send(&chat_request(STREAM)).await;
        let text = connection.read_until(": ping").await;
        assert!(text.starts_with("HTTP/1.1 200"), "{text}");
    }
}

#[tokio::test]
async fn a_failure_after_the_first_comment_comes_as_an_event() {
    let error = ModelError::new(ModelErrorKind::Provider, "ill");
    let model = TestModel::new(Script::FailsLate(error));
    let mut setup = Setup {
        model: Some(model.clone()),
        ..Setup::default()
    };
    setup.config.ping_time = Duration::from_millis(20);
    let server = start_with(setup).await;
    let mut connection = Connection::open(server.address).await;
    connection
        .send(
            &chat_request(STREAM)
                .replace("host: localhost", "host: localhost\r\nconnection: close"),
        )
        .await;
    connection.read_until(": ping").await;
    model.go_on();
    let answer = parse(&connection.read_to_end().await);
    let last: Value = serde_json::from_str(answer.events().last().unwrap()).unwrap();
    assert_eq!(last["error"]["type"], "model.provider");
}

#[tokio::test]
async fn a_whole_chat_has_a_limit_on_its_time() {
    let model = TestModel::new(Script::Hangs(vec![start()]));
    let mut setup = Setup {
        model: Some(model.clone()),
        ..Setup::default()
    };
    setup.config.chat_time = Duration::from_millis(50);
    let server = start_with(setup).await;
    let answer = server.post("/api/chat/prompts/hello", BODY).await;
    assert_eq!(
        (answer.status, answer.json()["error"].as_str()),
        (503, Some("chat.timeout"))
    );
    assert_eq!(model.open(), 0);
}
