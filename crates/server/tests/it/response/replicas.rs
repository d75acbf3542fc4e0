//! Stored state: histories across a restart, runs and limits shared by replicas in a real Redis,
//! and large conversations and results.

use std::sync::Arc;

use quillet_core::chat::{ChatEvent, FinishReason};
use quillet_core::runs::RunAllowance;
use quillet_core::session::StoredMessage;
use quillet_core::{Message, Role};
use quillet_store::{RunOptions, SessionOptions, StoreOptions};
use quillet_test_support::{RedisServer, TempDir};
use serde_json::json;

use crate::client::{Connection, request};
use crate::test_agents::{AgentServer, AgentSetup, events, frames, question};
use crate::test_model::{Script, TestModel, hello, start, text};
use crate::test_server::eventually;

async fn over(
    address: &str,
    script: Script,
    change: impl FnOnce(&mut AgentSetup),
) -> (AgentServer, Arc<TestModel>) {
    let model = TestModel::new(script);
    let mut setup = AgentSetup::over(model.clone());
    let store = StoreOptions::default();
    setup.sessions = quillet_store::open_sessions(address, &store, &SessionOptions::default())
        .await
        .unwrap();
    setup.runs = quillet_store::open_runs(address, &store, &RunOptions::default())
        .await
        .unwrap();
    change(&mut setup);
    (setup.start().await, model)
}

fn asked(model: &TestModel) -> usize {
    model
        .requests
        .lock()
        .unwrap()
        .last()
        .unwrap()
        .messages
        .len()
}

#[tokio::test]
async fn a_history_outlives_the_process() {
    let folder = TempDir::new();
    let address = format!("sqlite:{}", folder.path().join("h.db").display());
    for messages in [1, 3, 5] {
        let (server, model) = over(&address, Script::Says(hello()), |_| {}).await;
        server
            .ask(&question("Hi", json!({"session_id": "s"})))
            .await;
        assert_eq!(asked(&model), messages);
    }
}

fn post(body: &serde_json::Value, id: &str) -> String {
    let body = body.to_string();
    format!(
        "POST /v1/response HTTP/1.1\r\nhost: localhost\r\nx-request-id: {id}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replicas_share_history_limits_cancellation_and_logs() {
    let redis = RedisServer::start();
    let one_at_once = |setup: &mut AgentSetup| {
        setup.options.allowance = RunAllowance {
            concurrent: Some(1),
            per_minute: None,
        };
    };
    let hanging = Script::Hangs(vec![start(), text("Hel")]);
    let (first, _) = over(&redis.url(), hanging, one_at_once).await;
    let (second, model) = over(&redis.url(), Script::Says(hello()), one_at_once).await;
    let mut connection = Connection::open(first.address).await;
    let body = question(
        "Hi",
        json!({"session_id": "s", "features": {"resumable": true}}),
    );
    connection.send(&post(&body, "shared")).await;
    connection.read_until("Hel").await;
    let refused = second
        .post("/v1/response", &question("Hi", json!({})))
        .await;
    assert_eq!(refused.status, 429, "{}", refused.body);
    let address = second.address;
    let followed = tokio::spawn(async move {
        let headers = [("last-event-id", "1")];
        request(address, "GET", "/v1/response/shared/events", &headers, "").await
    });
    let stopped = second
        .post("/v1/response/cancel", &json!({"request_id": "shared"}))
        .await;
    assert_eq!(stopped.status, 200, "{}", stopped.body);
    let whole = events(&crate::client::parse(&connection.read_to_end().await).body);
    assert_eq!(whole.last().unwrap().name, "response.cancelled");
    assert_eq!(frames(&followed.await.unwrap().body), whole[1..]);
    eventually("the place is free", async || {
        let answer = second
            .post(
                "/v1/response",
                &question("Go on", json!({"session_id": "s"})),
            )
            .await;
        answer.status == 200
    })
    .await;
    // The model received the other replica's question, the text up to the cancellation, and the new
    // question.
    assert_eq!(asked(&model), 3);
}

#[tokio::test]
async fn ten_thousand_messages_are_cut_to_the_window_and_told() {
    let model = TestModel::new(Script::Says(hello()));
    let setup = AgentSetup::over(model.clone());
    let turns: Vec<StoredMessage> = (0..10_000)
        .map(|n| StoredMessage {
            id: n.to_string(),
            created_ms: n,
            message: Message::new(
                if n % 2 == 0 {
                    Role::User
                } else {
                    Role::Assistant
                },
                format!("message {n} {}", "with some words ".repeat(10)),
            ),
            loaded_skills: Vec::new(),
            partial: false,
        })
        .collect();
    setup.sessions.append("s", &turns).await.unwrap();
    let server = setup.start().await;
    let body = question("The question", json!({"session_id": "s"}));
    let told = server.ask(&body).await;
    let compacted = told
        .iter()
        .find(|event| event.name == "context.compacted")
        .unwrap();
    let report = &compacted.data;
    assert!(
        report["tokens_after"].as_u64() < report["tokens_before"].as_u64(),
        "{report}"
    );
    assert!(
        report["removed_messages"].as_u64().unwrap() > 1000,
        "{report}"
    );
    let requests = model.requests.lock().unwrap();
    assert_eq!(requests[0].messages.last().unwrap().content, "The question");
}

#[tokio::test]
async fn stored_agents_answer_under_their_names() {
    let model = TestModel::new(Script::Says(hello()));
    let server = AgentSetup::over(model.clone()).start().await;
    let ask = |name: &str| {
        question(
            "Hi",
            json!({"model_config": {"model_id": format!("agent/{name}"), "model": "", "api_key": "k"}}),
        )
    };
    let told = server.ask(&ask("support")).await;
    assert_eq!(told[0].data["model"], "agent/support");
    let request = model.requests.lock().unwrap()[0].clone();
    assert_eq!(request.model.as_deref(), Some("big-1"));
    assert_eq!(request.messages[0].content, "Be kind.");
    assert_eq!(request.options.tools.len(), 1);
    assert_eq!(told.last().unwrap().data["warnings"], json!(null));
    let told = server.ask(&ask("misspelt")).await;
    let warnings = &told.last().unwrap().data["warnings"];
    assert_eq!(warnings.as_array().map(Vec::len), Some(1), "{warnings}");
    assert!(
        warnings[0].as_str().unwrap().contains("\"codebse_*\""),
        "{warnings}"
    );
    let told = server.ask(&ask("suport")).await;
    let error = &told.last().unwrap().data;
    assert_eq!(error["code"], "model_not_found");
    assert!(
        error["message"]
            .as_str()
            .unwrap()
            .contains("did you mean \"support\"?")
    );
}

#[tokio::test]
async fn two_megabytes_of_a_tool_reach_the_client_whole_and_the_model_cut() {
    let large = "word ".repeat(400_000);
    let call = ChatEvent::ToolCall {
        choice: 0,
        index: 0,
        id: Some("c1".into()),
        name: Some("codebase_lookup".into()),
        arguments: json!({"symbol": large}).to_string(),
    };
    let wants = ChatEvent::Finish {
        choice: 0,
        reason: FinishReason::ToolCalls,
        raw: "tool_calls".into(),
    };
    let model = TestModel::new(Script::Says(vec![start(), call, wants]));
    let mut setup = AgentSetup::over(model.clone());
    setup.options.shown_tools = ["lookup".to_owned()].into();
    let server = setup.start().await;
    let tools = json!({"max_tool_calls": 1, "builtin": {"codebase.lookup": {}}});
    let body = question(
        "Hi",
        json!({"tools": tools, "model_config": {
        "model_id": "m", "model": "openai", "api_key": "", "context_window": 2_000_000}}),
    );
    let told = server.ask(&body).await;
    let done = told.iter().find(|event| event.name == "tool.done").unwrap();
    assert!(done.data["output"].to_string().len() > 2_000_000);
    let shown = done.data["blocks"][0]["tool_output"].as_str().unwrap();
    assert!(shown.len() < 20_000, "{}", shown.len());
    let requests = model.requests.lock().unwrap();
    let result = requests[1]
        .messages
        .iter()
        .find(|m| m.role == Role::Tool)
        .unwrap();
    let read = result.content.to_string().len();
    assert!((1_000..100_000).contains(&read), "{read}");
}
