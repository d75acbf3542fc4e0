//! Messages with media: the encoded request, and the reply of the mock.

use futures_util::StreamExt;
use quillet_core::chat::{ChatModel, ChatRequest, Reply};
use quillet_core::{ContentPart, Message, Role};
use quillet_llm::Mock;
use quillet_test_support::scripted::{ScriptedServer, good};
use serde_json::{Value, json};

use crate::model;

fn request() -> ChatRequest {
    let parts = vec![
        ContentPart::text("What is this?"),
        ContentPart::media("https://example.org/cat.png", None, None),
    ];
    let messages = vec![
        Message::new(Role::System, "Be brief."),
        Message::new(Role::User, parts),
    ];
    ChatRequest {
        messages,
        ..ChatRequest::default()
    }
}

async fn ask(model: &dyn ChatModel) -> Reply {
    let mut stream = model.stream(request()).await.unwrap();
    let mut reply = Reply::default();
    while let Some(event) = stream.next().await {
        reply.fold(event.unwrap());
    }
    reply
}

#[tokio::test]
async fn parts_are_sent_as_parts_and_texts_as_texts() {
    let server = ScriptedServer::start(vec![good("a cat")]);
    let reply = ask(&model(&server)).await;
    assert_eq!(reply.choices[0].text, "a cat");
    let body: Value = serde_json::from_str(&server.seen()[0].body).unwrap();
    let expected = json!([
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [
            {"type": "text", "text": "What is this?"},
            {"type": "image_url", "image_url": {"url": "https://example.org/cat.png"}},
        ]},
    ]);
    assert_eq!(body["messages"], expected);
}

#[tokio::test]
async fn the_mock_says_which_media_it_got() {
    let reply = ask(&Mock).await;
    let text = &reply.choices[0].text;
    let expected = "What is this?[image https://example.org/cat.png]";
    assert!(text.ends_with(expected), "{text}");
}
