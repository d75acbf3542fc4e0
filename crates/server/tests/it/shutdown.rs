//! Graceful shutdown.

use std::time::Duration;

use crate::client::{Connection, get, parse};
use crate::test_model::{Script, TestModel, finish, start, text};
use crate::test_server::{Setup, eventually, start_with};

const BODY: &str = r#"{"variables":{"name":"Ada"},"stream":true}"#;

async fn stream(address: std::net::SocketAddr) -> Connection {
    let mut connection = Connection::open(address).await;
    let length = BODY.len();
    let head = "POST /api/chat/prompts/hello HTTP/1.1\r\nhost: localhost\r\n";
    connection
        .send(&format!("{head}content-length: {length}\r\n\r\n{BODY}"))
        .await;
    connection.read_until("Hel").await;
    connection
}

#[tokio::test]
async fn streams_finish_while_new_requests_are_refused() {
    let model = TestModel::new(Script::Waits(vec![start(), text("Hel"), finish()]));
    let mut server = start_with(Setup {
        model: Some(model.clone()),
        ..Setup::default()
    })
    .await;
    let mut streams = Vec::new();
    for _ in 0..20 {
        streams.push(stream(server.address).await);
    }
    let mut idle = Connection::open(server.address).await;
    idle.send("GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n")
        .await;
    idle.read_answers(1).await;

    server.stop();
    eventually("not ready", async || {
        get(server.address, "/readyz").await.status == 503
    })
    .await;
    idle.read_to_end().await;
    assert_eq!(server.get("/healthz").await.status, 200);
    let refused = server.post("/api/render/prompts/a.b.c", "").await;
    assert_eq!(
        (refused.status, refused.json()["error"].as_str()),
        (503, Some("server.stopping"))
    );
    assert!(refused.header("retry-after").is_some());

    for _ in 0..20 {
        model.go_on();
        tokio::task::yield_now().await;
    }
    for mut stream in streams {
        model.go_on();
        let answer = parse(&stream.read_to_end().await);
        assert_eq!(answer.events().last(), Some(&"[DONE]"), "{answer:?}");
    }
    assert_eq!(server.ended().await, 0);
}

#[tokio::test]
async fn what_does_not_finish_in_time_is_cut() {
    let model = TestModel::new(Script::Hangs(vec![start(), text("Hel")]));
    let mut setup = Setup {
        model: Some(model.clone()),
        ..Setup::default()
    };
    setup.config.drain_time = Duration::from_millis(100);
    let mut server = start_with(setup).await;
    let mut cut = stream(server.address).await;
    server.stop();
    assert_eq!(server.ended().await, 1);
    assert_eq!(model.open(), 0);
    assert!(!cut.read_to_end().await.contains("[DONE]"));
}
