//! `POST /v1/responses`.

use quillet_fake_provider::{ProviderApi, ReplyScript, ScriptedReply};
use quillet_server::ServerConfig;
use serde_json::{Value, json};

use super::door::{Door, open, open_with};
use crate::client::request;

/// Requests a stream and checks its structure: numbers without gaps, an end for every item and
/// part, and the complete response in the last event.
async fn events(door: &Door, body: Value) -> Vec<Value> {
    let mut body = body;
    body["stream"] = json!(true);
    let answer = door.post("/v1/responses", &body).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    let mut events: Vec<Value> = Vec::new();
    for frame in answer.body.split("\n\n").filter(|frame| !frame.is_empty()) {
        let (name, data) = frame.split_once('\n').unwrap();
        let event: Value = serde_json::from_str(data.strip_prefix("data: ").unwrap()).unwrap();
        assert_eq!(name, format!("event: {}", event["type"].as_str().unwrap()));
        assert_eq!(event["sequence_number"], events.len());
        events.push(event);
    }
    for (begin, end) in [
        ("response.output_item.added", "response.output_item.done"),
        ("response.content_part.added", "response.content_part.done"),
        (
            "response.reasoning_summary_part.added",
            "response.reasoning_summary_part.done",
        ),
    ] {
        assert_eq!(of(&events, begin).len(), of(&events, end).len(), "{begin}");
    }
    let last = events.last().unwrap();
    let done = of(&events, "response.output_item.done");
    for item in done {
        let index = item["output_index"].as_u64().unwrap() as usize;
        assert_eq!(last["response"]["output"][index], item["item"]);
    }
    events
}

fn of<'a>(events: &'a [Value], kind: &str) -> Vec<&'a Value> {
    events
        .iter()
        .filter(|event| event["type"] == kind)
        .collect()
}

fn names(events: &[Value]) -> Vec<&str> {
    let mut names: Vec<&str> = events
        .iter()
        .map(|event| event["type"].as_str().unwrap())
        .collect();
    names.dedup();
    names
}

#[tokio::test]
async fn a_text_has_its_events_in_order() {
    let door = open().await;
    let events = events(&door, json!({"model": "fake-text-2", "input": "Hello"})).await;
    assert_eq!(
        names(&events),
        [
            "response.created",
            "response.in_progress",
            "response.output_item.added",
            "response.content_part.added",
            "response.output_text.delta",
            "response.output_text.done",
            "response.content_part.done",
            "response.output_item.done",
            "response.completed"
        ]
    );
    let usage = &events.last().unwrap()["response"]["usage"];
    assert!(usage["output_tokens"].is_u64(), "{usage}");
}

#[tokio::test]
async fn reasoning_calls_and_ends_come_over_every_wire() {
    let wires = [
        (ProviderApi::OpenAiChat, ""),
        (ProviderApi::OpenAiResponses, ""),
        (ProviderApi::Anthropic, "anthropic/"),
        (ProviderApi::Gemini, "google/"),
    ];
    for (wire, prefix) in wires {
        let door = open_with(ReplyScript::default(), wire, ServerConfig::default()).await;
        let ask = |model: &str| json!({"model": format!("{prefix}{model}"), "input": "Hello"});
        let told = events(&door, ask("fake-reasoning")).await;
        let output = &told.last().unwrap()["response"]["output"];
        assert_eq!(
            output[0]["summary"][0]["text"], "I should think.",
            "{wire:?}"
        );
        assert_eq!(output[1]["content"][0]["text"], "42", "{wire:?}");
        let mut body = ask("fake-tool-1");
        body["tools"] = json!([{"type": "function", "name": "look", "parameters": {
            "type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}}]);
        let told = events(&door, body).await;
        let pieces = of(&told, "response.function_call_arguments.delta");
        let pieces: String = pieces
            .iter()
            .map(|event| event["delta"].as_str().unwrap())
            .collect();
        let done = of(&told, "response.function_call_arguments.done");
        assert_eq!(done[0]["arguments"], pieces, "{wire:?}");
        assert_eq!(done[0]["name"], "look", "{wire:?}");
        let told = events(&door, ask("fake-length")).await;
        let last = told.last().unwrap();
        assert_eq!(last["type"], "response.incomplete", "{wire:?}");
        assert_eq!(
            last["response"]["incomplete_details"],
            json!({"reason": "max_output_tokens"})
        );
    }
}

#[tokio::test]
async fn a_turn_goes_to_the_client_and_back_in_its_providers_own_words() {
    for (wire, prefix) in [
        (ProviderApi::OpenAiResponses, ""),
        (ProviderApi::Anthropic, "anthropic/"),
    ] {
        let turn = || {
            ScriptedReply::new(Vec::new())
                .and_reasoning("Hm.")
                .and_text("42")
                .signature("c2lnbmF0dXJl")
        };
        let door = open_with(ReplyScript::turns([turn()]), wire, ServerConfig::default()).await;
        let first = json!({
            "model": format!("{prefix}claude-x"), "store": false, "input": "Hello",
            "include": ["reasoning.encrypted_content"], "reasoning": {"effort": "low"},
        });
        let whole = door.post("/v1/responses", &first).await.json();
        assert_eq!(whole["store"], false);
        let told = events(&door, first.clone()).await;
        for answer in [&whole, &told.last().unwrap()["response"]] {
            let output = answer["output"].as_array().unwrap();
            let mut input = vec![json!({"role": "user", "content": "Hello"})];
            input.extend(output.iter().cloned());
            input.push(json!({"role": "user", "content": "And?"}));
            let mut second = first.clone();
            second["input"] = json!(input);
            let answer = door.post("/v1/responses", &second).await;
            assert_eq!(answer.status, 200, "{}", answer.body);
            let sent = door.last().to_string();
            assert!(sent.contains("c2lnbmF0dXJl"), "{wire:?} {sent}");
            assert!(!sent.contains("quillet1."), "{sent}");
            assert!(!sent.contains("_quillet_"), "{sent}");
        }
        let mut torn = first.clone();
        torn["input"] =
            json!([{"type": "reasoning", "summary": [], "encrypted_content": "quillet1.!"}]);
        let answer = door.post("/v1/responses", &torn).await;
        assert_eq!(answer.status, 400);
        assert_eq!(answer.json()["error"]["code"], "invalid_encrypted_content");
    }
}

#[tokio::test]
async fn without_being_asked_the_providers_words_stay_here() {
    let door = open_with(
        ReplyScript::default(),
        ProviderApi::Anthropic,
        ServerConfig::default(),
    )
    .await;
    let body = json!({"model": "anthropic/fake-reasoning", "input": "Hello"});
    let answer = door.post("/v1/responses", &body).await;
    assert!(
        !answer.body.contains("encrypted_content"),
        "{}",
        answer.body
    );
    // The turn is stored with the response and sent again with the next request.
    let again = json!({"model": "anthropic/fake-reasoning", "input": "And?",
        "previous_response_id": answer.json()["id"]});
    assert_eq!(door.post("/v1/responses", &again).await.status, 200);
    assert!(door.last().to_string().contains("c2lnbmF0dXJl"));
}

#[tokio::test]
async fn what_only_this_wire_has_is_not_sent_to_others() {
    let door = open().await;
    let body = json!({
        "model": "fake-text-1", "input": "Hello", "instructions": "Be kind.", "store": true,
        "metadata": {"a": "b"}, "truncation": "auto", "max_output_tokens": 7, "include": [],
        "reasoning": {"effort": "low", "summary": "auto"},
        "text": {"verbosity": "low", "format": {"type": "json_schema", "name": "x", "schema": {"type": "object"}}},
    });
    let answer = door.post("/v1/responses", &body).await.json();
    for name in [
        "instructions",
        "metadata",
        "truncation",
        "max_output_tokens",
        "text",
    ] {
        assert_eq!(answer[name], body[name], "{name}");
    }
    let mut sent = door.last();
    assert_eq!(sent["response_format"]["json_schema"]["name"], "x");
    let sent = sent.as_object_mut().unwrap();
    let mut names: Vec<&str> = sent.keys().map(String::as_str).collect();
    names.sort_unstable();
    assert_eq!(
        names,
        [
            "max_tokens",
            "messages",
            "model",
            "reasoning_effort",
            "response_format",
            "stream",
        ]
    );
}

#[tokio::test]
async fn a_response_is_its_askers_own() {
    let config = ServerConfig {
        tokens: vec!["ada".into(), "bob".into()],
        ..ServerConfig::default()
    };
    let door = open_with(ReplyScript::default(), ProviderApi::OpenAiChat, config).await;
    let ask = async |who: &str, method: &str, path: &str, body: &str| {
        let token = format!("Bearer {who}");
        request(
            door.address,
            method,
            path,
            &[("authorization", &token)],
            body,
        )
        .await
    };
    let body = json!({"model": "fake-text-1", "input": "Hello"}).to_string();
    let id = ask("ada", "POST", "/v1/responses", &body).await.json()["id"].clone();
    let path = format!("/v1/responses/{}", id.as_str().unwrap());
    assert_eq!(ask("ada", "GET", &path, "").await.json()["id"], id);
    for method in ["GET", "DELETE"] {
        assert_eq!(ask("bob", method, &path, "").await.status, 404);
    }
    let deleted = ask("ada", "DELETE", &path, "").await.json();
    assert_eq!(deleted["deleted"], true);
    assert_eq!(ask("ada", "GET", &path, "").await.status, 404);
}

#[tokio::test]
async fn what_is_not_stored_is_not_found() {
    let door = open().await;
    let body = json!({"model": "fake-text-1", "input": "Hello", "store": false});
    let id = door.post("/v1/responses", &body).await.json()["id"].clone();
    let path = format!("/v1/responses/{}", id.as_str().unwrap());
    let missing = door.get(&path).await;
    assert_eq!(
        (missing.status, &missing.json()["error"]["code"]),
        (404, &json!("response_not_found"))
    );
}

#[tokio::test]
async fn failures_are_told_in_this_wires_words() {
    let door = open().await;
    for model in ["fake-cut", "fake-reset-stream", "fake-bad-json"] {
        let body = json!({"model": model, "input": "Hello"});
        let told = events_of_failure(&door, &body).await;
        let last = told.last().unwrap();
        assert_eq!(last["type"], "response.failed", "{model}");
        assert_eq!(last["response"]["status"], "failed");
        assert!(last["response"]["error"]["code"].is_string());
        assert_eq!(
            door.post("/v1/responses", &body).await.status,
            502,
            "{model}"
        );
    }
    let cases = [
        (json!({"model": "fake-text-1"}), json!("input")),
        (
            json!({"model": "fake-text-1", "input": [7]}),
            json!("input[0]"),
        ),
        (
            json!({"model": "fake-text-1", "input": "x", "background": true}),
            json!("background"),
        ),
        (
            json!({"model": "fake-text-1", "input": "x", "conversation": "c"}),
            json!("conversation"),
        ),
        (
            json!({"model": "fake-text-1", "input": "x", "previous_response_id": 7}),
            json!("previous_response_id"),
        ),
        (json!({"model": 7, "input": "x"}), json!("model")),
        (json!([]), json!(null)),
    ];
    for (body, param) in cases {
        let answer = door.post("/v1/responses", &body).await;
        assert_eq!(
            (answer.status, &answer.json()["error"]["param"]),
            (400, &param),
            "{body}"
        );
    }
}

async fn events_of_failure(door: &Door, body: &Value) -> Vec<Value> {
    let mut body = body.clone();
    body["stream"] = json!(true);
    let answer = door.post("/v1/responses", &body).await;
    let read = |data: &str| serde_json::from_str(data).unwrap();
    answer.events().into_iter().map(read).collect()
}
