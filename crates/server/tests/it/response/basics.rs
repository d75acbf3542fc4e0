//! Events, payloads, both response formats, cancellation, resumption and limits.

use std::sync::Arc;

use quillet_core::chat::{ChatEvent, ModelErrorKind, Usage};
use quillet_core::runs::RunAllowance;
use serde_json::{Value, json};

use crate::client::{Connection, request};
use crate::test_agents::{AgentServer, AgentSetup, events, frames, names, question};
use crate::test_model::{Script, TestModel, finish, hello, start, text};
use crate::test_server::eventually;

async fn with(script: Script) -> (AgentServer, Arc<TestModel>) {
    let model = TestModel::new(script);
    (AgentSetup::over(model.clone()).start().await, model)
}

fn post(body: &Value, headers: &str) -> String {
    let body = body.to_string();
    format!(
        "POST /v1/response HTTP/1.1\r\nhost: localhost\r\n{headers}content-length: {}\r\n\r\n{body}",
        body.len()
    )
}

#[tokio::test]
async fn an_answer_is_start_deltas_and_done() {
    let thought = ChatEvent::Reasoning {
        choice: 0,
        text: "hm".into(),
    };
    let cost = ChatEvent::Usage(Usage {
        input_tokens: 10,
        output_tokens: 5,
        reasoning_tokens: 2,
        cache_read_tokens: 4,
        cache_write_tokens: 1,
    });
    let said = vec![start(), thought, text("Hé"), text("llo"), finish(), cost];
    let (server, _model) = with(Script::Says(said)).await;
    let answer = server
        .post("/v1/response", &question("Hi", json!({})))
        .await;
    for (name, value) in [
        ("content-type", "text/event-stream"),
        ("cache-control", "no-cache"),
        ("x-accel-buffering", "no"),
    ] {
        assert_eq!(answer.header(name), Some(value));
    }
    let request_id = answer.header("x-request-id").unwrap();
    assert_eq!((request_id.len(), &request_id[..4]), (16, "req-"));
    let mut told = events(&answer.body);
    let id = told[0].data["id"].clone();
    assert!(id.as_str().unwrap().starts_with("resp-"));
    assert_eq!(told[0].data["model"], "test-1");
    assert!(told[0].data["created"].as_u64().unwrap() > 1_700_000_000);
    assert_eq!(
        (told[1].name.as_str(), &told[1].data),
        ("reasoning.delta", &json!({"text": "hm"}))
    );
    let delta = |text: &str, offset: u64| json!({"type": "text", "text": text, "block_id": "text-1", "block_offset": offset});
    assert_eq!(
        (told[2].name.as_str(), &told[2].data),
        ("content.delta", &delta("Hé", 0))
    );
    assert_eq!(
        (told[3].name.as_str(), &told[3].data),
        ("content.delta", &delta("llo", 2))
    );
    let mut done = told.pop().unwrap();
    let stamp = done.data["blocks"][0]["timestamp"].take();
    assert!(stamp.as_u64().unwrap() > 1_700_000_000_000);
    assert_eq!(
        done.data,
        json!({
            "id": id,
            "usage": {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15,
                "cache_read_input_tokens": 4, "cache_creation_input_tokens": 1, "reasoning_tokens": 2},
            "stop_reason": "end_turn",
            "sources": null,
            "blocks": [{"type": "text", "id": "text-1", "content": "Héllo", "status": "done", "timestamp": null}],
            "silent_exit": false,
            "silent_exit_reason": null,
            "reasoning_content": "hm",
        })
    );
}

#[tokio::test]
async fn without_streaming_it_is_one_object() {
    let (server, _model) = with(Script::Says(hello())).await;
    let body = question("Hi", json!({"features": {"streaming": false}}));
    let answer = server.post("/v1/response", &body).await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("content-type"), Some("application/json"));
    let json = answer.json();
    assert_eq!(
        (&json["content"], &json["reasoning"], &json["stop_reason"]),
        (&json!("Hello"), &json!(""), &json!("end_turn"))
    );
    assert_eq!(json["blocks"][0]["content"], "Hello");
    assert_eq!(json["usage"]["total_tokens"], 5);
}

#[tokio::test]
async fn failures_have_codes_in_both_forms() {
    let cases = [
        (ModelErrorKind::Auth, "auth", 401),
        (ModelErrorKind::Forbidden, "forbidden", 403),
        (ModelErrorKind::RateLimited, "rate_limit", 429),
        (ModelErrorKind::Quota, "quota", 429),
        (ModelErrorKind::ContextLength, "context_length", 400),
        (ModelErrorKind::Refused, "invalid_request", 400),
        (ModelErrorKind::ContentFilter, "content_filter", 400),
        (ModelErrorKind::ModelNotFound, "model_not_found", 404),
        (ModelErrorKind::Overloaded, "overloaded", 503),
        (ModelErrorKind::Provider, "server_error", 502),
        (ModelErrorKind::Timeout, "timeout", 504),
        (ModelErrorKind::Connect, "network", 502),
        (ModelErrorKind::Cut, "stream_truncated", 502),
        (
            ModelErrorKind::MalformedToolCall,
            "malformed_tool_call",
            502,
        ),
    ];
    for (kind, code, status) in cases {
        let (server, _model) = with(Script::Breaks(vec![start(), text("Hel")], kind)).await;
        let told = server.ask(&question("Hi", json!({}))).await;
        let last = told.last().unwrap();
        assert_eq!(
            (last.name.as_str(), &last.data["code"]),
            ("response.error", &json!(code))
        );
        let details: Vec<&String> = last.data["details"].as_object().unwrap().keys().collect();
        assert_eq!(
            details,
            [
                "provider",
                "http_status",
                "provider_code",
                "request_id",
                "retry_after_s",
                "retryable"
            ]
        );
        assert_eq!(last.data["details"]["provider"], "test");
        let body = question("Hi", json!({"features": {"streaming": false}}));
        let answer = server.post("/v1/response", &body).await;
        assert_eq!(
            (answer.status, &answer.json()["error"]["code"]),
            (status, &json!(code))
        );
    }
}

#[tokio::test]
async fn a_model_that_cannot_be_had_is_an_error_event() {
    let (server, _model) = with(Script::Says(hello())).await;
    let body = question(
        "Hi",
        json!({"model_config": {"model_id": "none", "model": "openai", "api_key": ""}}),
    );
    let told = server.ask(&body).await;
    assert_eq!(names(&told), ["response.start", "response.error"]);
    assert_eq!(told[1].data["code"], "auth");
}

#[tokio::test]
async fn cancelling_ends_the_call_and_tells_what_was_said() {
    for (script, said) in [
        (Script::Silent, ""),
        (Script::Hangs(vec![start(), text("Hel")]), "Hel"),
    ] {
        let (server, model) = with(script).await;
        let mut connection = Connection::open(server.address).await;
        let headers = "x-request-id: mine-1\r\nconnection: close\r\n";
        connection
            .send(&post(&question("Hi", json!({})), headers))
            .await;
        eventually("the model is asked", async || model.open() == 1).await;
        if !said.is_empty() {
            connection.read_until("Hel").await;
        }
        let stopped = server
            .post("/v1/response/cancel", &json!({"request_id": "mine-1"}))
            .await;
        assert_eq!(
            (stopped.status, &stopped.json()["success"]),
            (200, &json!(true))
        );
        let answer = crate::client::parse(&connection.read_to_end().await);
        assert_eq!(answer.header("x-request-id"), Some("mine-1"));
        let told = events(&answer.body);
        let last = told.last().unwrap();
        assert_eq!(last.name, "response.cancelled");
        assert_eq!(last.data["partial_content"], said);
        assert_eq!(model.open(), 0);
        let again = server
            .post("/v1/response/cancel", &json!({"request_id": "mine-1"}))
            .await;
        assert_eq!(again.status, 404);
        assert_eq!(
            again.json(),
            json!({"detail": "Request not found or already completed"})
        );
    }
}

#[tokio::test]
async fn a_client_that_leaves_ends_the_call() {
    for body in [
        question("Hi", json!({})),
        question("Hi", json!({"features": {"streaming": false}})),
    ] {
        for script in [Script::Silent, Script::Hangs(vec![start(), text("Hel")])] {
            let (server, model) = with(script).await;
            let mut connection = Connection::open(server.address).await;
            connection.send(&post(&body, "")).await;
            eventually("the model is asked", async || model.open() == 1).await;
            drop(connection);
            eventually("the call has ended", async || model.open() == 0).await;
            eventually("nothing is active", async || {
                server.get("/health").await.json()["active_streams"] == 0
            })
            .await;
        }
    }
}

#[tokio::test]
async fn a_resumable_answer_goes_on_and_is_taken_up_again() {
    let (server, model) = with(Script::Waits(hello())).await;
    let body = question("Hi", json!({"features": {"resumable": true}}));
    let mut connection = Connection::open(server.address).await;
    connection.send(&post(&body, "x-request-id: r1\r\n")).await;
    connection.read_until("Hel").await;
    drop(connection);
    let headers = [("last-event-id", "1")];
    let taken = {
        let address = server.address;
        tokio::spawn(async move {
            request(address, "GET", "/v1/response/r1/events", &headers, "").await
        })
    };
    assert_eq!(model.open(), 1);
    model.go_on();
    let rest = taken.await.unwrap();
    let rest = frames(&rest.body);
    assert_eq!((rest[0].id, rest[0].name.as_str()), (2, "content.delta"));
    assert_eq!(rest.last().unwrap().name, "response.done");
    let whole = server.get("/v1/response/r1/events?after=0").await;
    let whole = events(&whole.body);
    assert_eq!(whole[1..], rest[..]);
    let by_answer = whole[0].data["id"].as_str().unwrap().to_owned();
    let path = format!("/v1/response/{by_answer}/events?after=3");
    assert_eq!(frames(&server.get(&path).await.body), whole[3..]);
    assert_eq!(server.get("/v1/response/other/events").await.status, 404);
}

#[tokio::test]
async fn silence_is_filled_with_comments() {
    for features in [json!({}), json!({"resumable": true})] {
        let mut setup = AgentSetup::over(TestModel::new(Script::Silent));
        setup.config.ping_time = std::time::Duration::from_millis(20);
        let server = setup.start().await;
        let mut connection = Connection::open(server.address).await;
        connection
            .send(&post(&question("Hi", json!({"features": features})), ""))
            .await;
        let text = connection.read_until(": ping").await;
        assert!(text.contains("event: response.start"), "{text}");
    }
}

#[tokio::test]
async fn limits_are_429_with_a_time() {
    let limited = |concurrent, allowance| {
        let mut setup = AgentSetup::over(TestModel::new(Script::Silent));
        setup.options.concurrent = concurrent;
        setup.options.allowance = allowance;
        setup.start()
    };
    let one = RunAllowance {
        concurrent: Some(1),
        per_minute: None,
    };
    let rate = RunAllowance {
        concurrent: None,
        per_minute: Some(1),
    };
    for server in [
        limited(1, RunAllowance::default()).await,
        limited(50, one).await,
        limited(50, rate).await,
    ] {
        let mut connection = Connection::open(server.address).await;
        connection.send(&post(&question("Hi", json!({})), "")).await;
        connection.read_until("response.start").await;
        let answer = server
            .post("/v1/response", &question("Hi", json!({})))
            .await;
        assert_eq!(
            (answer.status, &answer.json()["error"]["code"]),
            (429, &json!("rate_limit"))
        );
        let wait: u64 = answer.header("retry-after").unwrap().parse().unwrap();
        assert!((1..=60).contains(&wait));
    }
}

#[tokio::test]
async fn an_id_that_is_in_use_is_409() {
    let (server, _model) = with(Script::Silent).await;
    let mut connection = Connection::open(server.address).await;
    connection
        .send(&post(&question("Hi", json!({})), "x-request-id: same\r\n"))
        .await;
    connection.read_until("response.start").await;
    let body = question("Hi", json!({"metadata": {"request_id": "same"}}));
    let answer = server.post("/v1/response", &body).await;
    assert_eq!(answer.status, 409, "{}", answer.body);
    assert_eq!(answer.header("x-request-id"), Some("same"));
}

#[tokio::test]
async fn sessions_remember_also_what_was_cut() {
    let (server, model) = with(Script::Says(hello())).await;
    for _ in 0..2 {
        server
            .ask(&question("Hi", json!({"session_id": "s"})))
            .await;
    }
    server
        .ask(&question(
            "Alone",
            json!({"session_id": "s", "include_history": false}),
        ))
        .await;
    server
        .ask(&question("Task", json!({"metadata": {"task_id": 7}})))
        .await;
    let asked: Vec<Vec<String>> = {
        let requests = model.requests.lock().unwrap();
        let texts = |messages: &Vec<quillet_core::Message>| {
            messages.iter().map(|m| m.content.to_string()).collect()
        };
        requests
            .iter()
            .map(|request| texts(&request.messages))
            .collect()
    };
    assert_eq!(asked[0], ["Hi"]);
    assert_eq!(asked[1], ["Hi", "Hello", "Hi"]);
    assert_eq!(asked[2], ["Alone"]);
    let turns = server
        .agents
        .parts()
        .sessions
        .load("task-7", 10)
        .await
        .unwrap();
    assert_eq!(turns.len(), 2);

    let (server, model) = with(Script::Hangs(vec![start(), text("Hel")])).await;
    let mut connection = Connection::open(server.address).await;
    connection
        .send(&post(&question("Hi", json!({"session_id": "s"})), ""))
        .await;
    connection.read_until("Hel").await;
    drop(connection);
    eventually("the call has ended", async || model.open() == 0).await;
    let sessions = server.agents.parts().sessions.clone();
    eventually("the part is kept", async || {
        sessions.load("s", 10).await.unwrap().len() == 2
    })
    .await;
    let turns = sessions.load("s", 10).await.unwrap();
    assert!(turns[1].partial && !turns[0].partial);
    assert_eq!(turns[1].message.content, "Hel");
}

#[tokio::test]
async fn health_says_what_runs() {
    let (mut server, model) = with(Script::Silent).await;
    let mut connection = Connection::open(server.address).await;
    connection.send(&post(&question("Hi", json!({})), "")).await;
    eventually("the model is asked", async || model.open() == 1).await;
    let health = server.get("/v1/health").await.json();
    assert_eq!(
        (&health["status"], &health["active_streams"]),
        (&json!("ok"), &json!(1))
    );
    assert_eq!(health["storage"], json!({"type": "memory", "status": "ok"}));
    assert_eq!(health["model_providers"], json!(["test"]));
    assert_eq!(server.get("/ready").await.json()["status"], "ready");
    server.stop();
    eventually("not ready", async || {
        server.get("/ready").await.status == 503
    })
    .await;
    assert_eq!(server.get("/health").await.json()["shutting_down"], true);
    assert_eq!(
        server
            .post("/v1/response", &question("Hi", json!({})))
            .await
            .status,
        503
    );
}

#[tokio::test]
async fn what_happened_is_counted() {
    let (server, _model) = with(Script::Says(hello())).await;
    server.ask(&question("Hi", json!({}))).await;
    let text = server.get("/metrics").await.body;
    for line in [
        r#"quillet_agent_runs_total{code="stop"} 1"#,
        "quillet_agent_active_runs 0",
        r#"quillet_agent_tokens_total{kind="input"} 3"#,
        r#"quillet_agent_tokens_total{kind="output"} 2"#,
        "quillet_agent_first_token_seconds_count 1",
    ] {
        assert!(text.lines().any(|l| l == line), "{line}\n{text}");
    }
}
