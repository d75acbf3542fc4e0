//! Scripts, model names, complete responses and recorded requests.

use quillet_fake_provider::{FakeProvider, ProviderApi, ReplyScript, ScriptedReply};
use serde_json::{Value, json};

use crate::client::{ask, read, request, send};

#[test]
fn a_whole_answer_says_what_a_streamed_one_does() {
    let turn = ScriptedReply::new(Vec::new())
        .and_text("It ")
        .and_text("is so.")
        .and_call("c1", "look", ["{\"a\"", ":1}"]);
    let provider = FakeProvider::start(ReplyScript::turns([turn]));
    let places = [
        (
            "/choices/0/message/content",
            "/choices/0/message/tool_calls/0/function/name",
        ),
        ("/output/0/content/0/text", "/output/1/name"),
        ("/content/0/text", "/content/1/name"),
        (
            "/candidates/0/content/parts/1/text",
            "/candidates/0/content/parts/2/functionCall/name",
        ),
    ];
    for (wire, (text, name)) in ProviderApi::ALL.into_iter().zip(places) {
        let answer = ask(&provider, wire, "m", false);
        assert!(answer.whole && answer.status == 200, "{answer:?}");
        let body = answer.json();
        let text = body.pointer(text).and_then(Value::as_str).unwrap();
        assert!(["It is so.", "is so."].contains(&text), "{body}");
        assert_eq!(body.pointer(name), Some(&json!("look")), "{body}");
    }
}

#[test]
fn turns_come_in_order_for_each_key() {
    let script = ReplyScript::turns([
        ScriptedReply::text(["first"]),
        ScriptedReply::text(["second"]),
    ])
    .for_key("sk-other", [ScriptedReply::text(["other"])]);
    let provider = FakeProvider::start(script);
    let (path, body) = request(ProviderApi::Anthropic, "m", false);
    for (key, expected) in [
        ("sk-a", "first"),
        ("sk-b", "first"),
        ("sk-a", "second"),
        ("sk-other", "other"),
        ("sk-a", "second"),
    ] {
        let answer = read(send(&provider, &path, key, &body)).json();
        assert_eq!(answer["content"][0]["text"], expected, "{key}");
    }
}

#[test]
fn requests_are_written_down_and_can_choose_the_answer() {
    let script = ReplyScript::function(|asked| {
        ScriptedReply::text([format!(
            "{} wants {}",
            asked.key.as_deref().unwrap(),
            asked.model
        )])
    });
    let provider = FakeProvider::start(script);
    for wire in ProviderApi::ALL {
        let answer = ask(&provider, wire, "some-model", false);
        assert!(
            answer.body.contains("sk-test wants some-model"),
            "{answer:?}"
        );
    }
    let requests = provider.requests();
    assert_eq!(provider.asked(), 4);
    for (number, (asked, wire)) in requests.iter().zip(ProviderApi::ALL).enumerate() {
        assert_eq!((asked.number, asked.wire), (number, Some(wire)));
        assert_eq!(asked.header("host"), Some("fake"));
        assert!(asked.json().is_object() && !asked.streaming, "{asked:?}");
    }
}

#[test]
fn a_name_can_ask_for_rounds_of_calls() {
    let provider = FakeProvider::start(ReplyScript::default());
    let tool = json!({"type": "function", "function": {"name": "look_up", "parameters": {
        "type": "object", "required": ["city"], "properties": {"city": {"type": "string"}}}}});
    let call = json!({"role": "assistant", "content": null, "tool_calls": [{"id": "call_1"}]});
    let mut messages = vec![json!({"role": "user", "content": "hi"})];
    for round in 0..3 {
        let body = json!({"model": "fake-tool-2", "messages": messages, "tools": [tool]});
        let answer = read(send(&provider, "/v1/chat/completions", "k", &body)).json();
        let message = &answer["choices"][0]["message"];
        if round < 2 {
            let called = &message["tool_calls"][0]["function"];
            assert_eq!(
                called,
                &json!({"name": "look_up", "arguments": "{\"city\":\"Paris\"}"})
            );
        } else {
            assert!(
                message["content"].as_str().unwrap().starts_with("word0 "),
                "{message}"
            );
        }
        messages.push(call.clone());
    }
}

#[test]
fn names_say_how_many_deltas_come() {
    let provider = FakeProvider::start(ReplyScript::default());
    for wire in ProviderApi::ALL {
        for _ in 0..2 {
            let body = ask(&provider, wire, "fake-text-20", true).body;
            assert_eq!(body.matches("\"word7 \"").count(), 1, "{body}");
            assert!(body.contains("\"word19 \""), "{body}");
        }
        let body = ask(&provider, wire, "fake-text-2-1ms", true).body;
        assert!(body.contains("word1") && !body.contains("word2"), "{body}");
    }
}

#[test]
fn embeddings_are_there_too() {
    let provider = FakeProvider::start(ReplyScript::default());
    let body = json!({"model": "e", "input": ["a cat", "a cat", "a dog"], "dimensions": 16});
    let answer = read(send(&provider, "/v1/embeddings", "k", &body)).json();
    let data = answer["data"].as_array().unwrap();
    assert_eq!(data.len(), 3);
    assert_eq!(data[0]["embedding"], data[1]["embedding"]);
    assert_ne!(data[0]["embedding"], data[2]["embedding"]);
    assert_eq!(data[2]["embedding"].as_array().unwrap().len(), 16);
}
