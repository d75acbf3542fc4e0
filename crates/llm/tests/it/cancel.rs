//! Dropping the answer ends the call, even before the first byte.

use std::time::Duration;

use futures_util::StreamExt;
use quillet_core::chat::ChatModel;
use quillet_test_support::scripted::{ScriptedServer, ServerAction, stream_head, text_event};

use crate::{model, request};

#[tokio::test]
async fn dropping_the_stream_is_seen_by_the_provider() {
    let script = vec![
        stream_head(),
        ServerAction::Send(text_event("a").into()),
        ServerAction::Hang,
    ];
    let server = ScriptedServer::start(vec![script]);
    let model = model(&server);
    let mut stream = model.stream(request()).await.unwrap();
    assert!(stream.next().await.unwrap().is_ok());
    drop(stream);
    let waiting = server.clone();
    assert!(
        tokio::task::spawn_blocking(move || waiting.wait_left())
            .await
            .unwrap()
    );
}

#[tokio::test]
async fn dropping_the_request_before_the_first_byte_is_seen_too() {
    for script in [
        vec![ServerAction::Hang],
        vec![stream_head(), ServerAction::Hang],
    ] {
        let server = ScriptedServer::start(vec![script]);
        let model = model(&server);
        let asked = tokio::time::timeout(Duration::from_millis(200), model.stream(request()));
        assert!(asked.await.is_err());
        let waiting = server.clone();
        assert!(
            tokio::task::spawn_blocking(move || waiting.wait_left())
                .await
                .unwrap()
        );
    }
}
