//! Every reader of a resumable response gets a terminal event, even if the log is unavailable or
//! the run ends between two reads.

use std::sync::Arc;
use std::time::Duration;

use quillet_host::agent::AgentOptions;
use quillet_store::{RunOptions, StoreOptions};
use quillet_test_support::RedisServer;
use serde_json::json;

use crate::client::{Connection, parse};
use crate::test_agents::{AgentServer, AgentSetup, events, question};
use crate::test_model::{Script, TestModel, hello, start, text};
use crate::test_server::eventually;

async fn over(redis: &RedisServer, script: Script) -> AgentServer {
    let mut setup = AgentSetup::over(TestModel::new(script));
    let options = RunOptions {
        lease: Duration::from_millis(300),
        ..RunOptions::default()
    };
    let store = StoreOptions::default();
    let runs = quillet_store::open_runs(&redis.url(), &store, &options).await;
    setup.runs = runs.unwrap();
    setup.options = AgentOptions {
        log_patience: Duration::from_millis(500),
        ..AgentOptions::default()
    };
    setup.start().await
}

fn resumable(text: &str) -> serde_json::Value {
    question(text, json!({"features": {"resumable": true}}))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_whose_redis_is_lost_is_told_and_the_run_goes_on() {
    let mut redis = RedisServer::start();
    let server = over(&redis, Script::Hangs(vec![start(), text("Hel")])).await;
    let mut connection = Connection::open(server.address).await;
    let body = resumable("Hi").to_string();
    let request = format!(
        "POST /v1/response HTTP/1.1\r\nhost: localhost\r\nx-request-id: lost\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    connection.send(&request).await;
    connection.read_until("Hel").await;
    redis.kill();
    let heard = connection.read_to_end().await;
    let heard = parse(&heard).body;
    let last = heard.trim_end().rsplit("\n\n").next().unwrap();
    assert!(
        last.starts_with("event: response.error\n"),
        "it has no number: {heard}"
    );
    assert!(last.contains("\"code\":\"interrupted\""), "{heard}");
    assert_eq!(heard.matches("event: response.error").count(), 1, "{heard}");

    // Probes report the outage while new runs cannot start.
    eventually("readiness tells", async || {
        server.get("/ready").await.status == 503
    })
    .await;
    assert!(server.get("/ready").await.body.contains("runs_unavailable"));
    let ready = server.get("/readyz").await;
    assert!(
        ready.body.contains("new agent runs are rejected"),
        "{}",
        ready.body
    );
    let refused = server.post("/v1/response", &resumable("More")).await;
    assert_eq!(refused.status, 503, "{}", refused.body);
    let health = server.get("/v1/health").await.json();
    assert_eq!(health["active_streams"], 1, "the run goes on: {health}");

    redis.restart();
    eventually("readiness comes back", async || {
        server.get("/ready").await.status == 200
    })
    .await;
    eventually("the run is found and stopped", async || {
        let body = json!({"request_id": "lost"});
        server.post("/v1/response/cancel", &body).await.status == 200
    })
    .await;
    eventually("its log has its end", async || {
        let log = server.get("/v1/response/lost/events").await.body;
        log.contains("event: response.cancelled") && log.contains(": events 1 to ")
    })
    .await;
}

/// The log must contain the end of a run before its permit is released.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_end_of_a_run_is_in_its_log_before_its_place_is_free() {
    let model = TestModel::new(Script::Says(hello()));
    let server = Arc::new(AgentSetup::over(model).start().await);
    let mut asking = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let server = server.clone();
        asking.spawn(async move {
            for _ in 0..40 {
                let answer = server.post("/v1/response", &resumable("Hi")).await;
                assert_eq!(events(&answer.body).last().unwrap().name, "response.done");
            }
        });
    }
    asking.join_all().await;
}
