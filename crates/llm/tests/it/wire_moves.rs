//! Histories of one provider that are continued with another.

use proptest::prelude::*;
use quillet_core::chat::{ChatRequest, ToolOffer};
use quillet_core::{Message, NativeTurn, Role, ToolCall};
use quillet_llm::{Anthropic, Gemini, Protocol};
use serde_json::{Value, json};

use crate::transcripts::play;

const WIRES: [&str; 4] = ["openai-chat", "openai-responses", "anthropic", "gemini"];
const SENTINEL: &str = "skip_thought_signature_validator";

fn native(wire: &str, content: Value) -> Option<NativeTurn> {
    Some(NativeTurn {
        wire: wire.to_owned(),
        model: None,
        content,
    })
}

fn call(id: &str, city: &str) -> ToolCall {
    ToolCall {
        id: id.to_owned(),
        name: "look".to_owned(),
        arguments: json!({"city": city}).to_string(),
    }
}

/// A turn with reasoning, a text and two calls, as decoded from each provider.
fn turn_of(wire: &str) -> Message {
    let mut turn = match wire {
        "anthropic" => answer_of(
            &Anthropic,
            &json!({"type": "message", "stop_reason": "tool_use", "content": [
                {"type": "thinking", "thinking": "Two cities.", "signature": "c2ln"},
                {"type": "text", "text": "Looking."},
                {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {"city": "Rome"}},
                {"type": "tool_use", "id": "toolu_2", "name": "look", "input": {"city": "Oslo"}},
            ]}),
        ),
        "gemini" => answer_of(
            &Gemini,
            &json!({"candidates": [{"finishReason": "STOP", "content": {"parts": [
                {"text": "Two cities.", "thought": true},
                {"text": "Looking."},
                {"functionCall": {"name": "look", "args": {"city": "Rome"}, "id": "g-1"}, "thoughtSignature": "c2ln"},
                {"functionCall": {"name": "look", "args": {"city": "Oslo"}}},
            ]}}]}),
        ),
        _ => Message {
            tool_calls: vec![call("call_1", "Rome"), call("functions.look:2", "Oslo")],
            reasoning: Some("Two cities.".to_owned()),
            ..Message::new(Role::Assistant, "Looking.")
        },
    };
    match wire {
        "openai-chat" => {
            turn.native = native(wire, json!({"reasoning_details": [{"data": "secret"}]}))
        }
        "openai-responses" => {
            turn.native = native(
                wire,
                json!([{"type": "reasoning", "encrypted_content": "secret"}]),
            )
        }
        _ => {}
    }
    assert!(turn.native.is_some(), "{wire}");
    turn
}

fn answer_of(protocol: &dyn Protocol, body: &Value) -> Message {
    let outcome = play(protocol, &body.to_string());
    outcome.reply.choices[0].clone().into_message()
}

/// A conversation with open calls; the results are in the wrong order.
fn in_the_middle(wire: &str) -> Vec<Message> {
    let turn = turn_of(wire);
    let ids: Vec<String> = turn.tool_calls.iter().map(|call| call.id.clone()).collect();
    let mut failed = Message::tool(&ids[1], "no such city");
    failed.is_error = true;
    vec![
        Message::new(Role::System, "Be brief."),
        Message::new(Role::User, "Rome and Oslo?"),
        turn,
        failed,
        Message::tool(&ids[0], "sunny"),
    ]
}

/// The same conversation after the answer, with another question.
fn later(wire: &str) -> Vec<Message> {
    let mut messages = in_the_middle(wire);
    messages.push(Message::new(Role::Assistant, "Sunny in Rome."));
    messages.push(Message::new(Role::User, "And Paris?"));
    messages
}

fn written(protocol: &dyn Protocol, model: &str, messages: Vec<Message>) -> Value {
    let mut request = ChatRequest {
        messages,
        ..ChatRequest::default()
    };
    request
        .options
        .extra
        .insert("prompt_caching".to_owned(), false.into());
    request.options.tools = vec![ToolOffer::Function {
        name: "look".to_owned(),
        description: String::new(),
        parameters: Value::Null,
        strict: None,
        extra: serde_json::Map::new(),
    }];
    protocol.write(model, &request).unwrap()
}

#[test]
fn anthropic_goes_on_with_every_history() {
    for wire in WIRES {
        let body = written(&Anthropic, "claude-sonnet-4-6", in_the_middle(wire));
        assert_eq!(
            body["system"],
            json!([{"type": "text", "text": "Be brief."}]),
            "{wire}"
        );
        let own = wire == "anthropic";
        let calls = &body["messages"][1]["content"];
        let expected = turn_of(wire);
        let mut blocks = vec![json!({"type": "text", "text": "Looking."})];
        if own {
            blocks.insert(
                0,
                json!({"type": "thinking", "thinking": "Two cities.", "signature": "c2ln"}),
            );
        }
        let at = blocks.len();
        for (number, city) in ["Rome", "Oslo"].into_iter().enumerate() {
            let id = &calls[at + number]["id"];
            // The ids that are generated for Gemini differ from turn to turn.
            if wire != "gemini" && number == 0 {
                assert_eq!(
                    id.as_str(),
                    Some(expected.tool_calls[0].id.as_str()),
                    "{wire}"
                );
            }
            blocks.push(
                json!({"type": "tool_use", "id": id, "name": "look", "input": {"city": city}}),
            );
        }
        assert_eq!(calls, &Value::from(blocks), "{wire}");
        let results = json!([
            {"type": "tool_result", "tool_use_id": calls[at + 1]["id"], "is_error": true,
                "content": [{"type": "text", "text": "no such city"}]},
            {"type": "tool_result", "tool_use_id": calls[at]["id"], "content": [{"type": "text", "text": "sunny"}]},
        ]);
        assert_eq!(
            body["messages"][2],
            json!({"role": "user", "content": results}),
            "{wire}"
        );
        check_anthropic(&body);
        check_anthropic(&written(&Anthropic, "claude-sonnet-4-6", later(wire)));
    }
}

#[test]
fn gemini_goes_on_with_every_history() {
    for wire in WIRES {
        let body = written(&Gemini, "gemini-3-pro", in_the_middle(wire));
        assert_eq!(
            body["systemInstruction"],
            json!({"parts": [{"text": "Be brief."}]}),
            "{wire}"
        );
        let signature = if wire == "gemini" { "c2ln" } else { SENTINEL };
        let mut first = json!({"functionCall": {"name": "look", "args": {"city": "Rome"}}, "thoughtSignature": signature});
        let mut answer =
            json!({"functionResponse": {"name": "look", "response": {"output": "sunny"}}});
        let mut parts = vec![json!({"text": "Looking."})];
        if wire == "gemini" {
            first["functionCall"]["id"] = json!("g-1");
            answer["functionResponse"]["id"] = json!("g-1");
            parts.insert(0, json!({"text": "Two cities.", "thought": true}));
        }
        parts.extend([
            first,
            json!({"functionCall": {"name": "look", "args": {"city": "Oslo"}}}),
        ]);
        assert_eq!(
            body["contents"][1],
            json!({"role": "model", "parts": parts}),
            "{wire}"
        );
        let failed =
            json!({"functionResponse": {"name": "look", "response": {"error": "no such city"}}});
        assert_eq!(
            body["contents"][2],
            json!({"role": "user", "parts": [answer, failed]}),
            "{wire}"
        );
        check_gemini(&body, true);
    }
}

#[test]
fn gemini_is_told_of_missing_signatures_in_the_current_turn_only() {
    for wire in WIRES {
        let strict = written(&Gemini, "gemini-3-pro", in_the_middle(wire)).to_string();
        assert_eq!(
            strict.matches(SENTINEL).count(),
            usize::from(wire != "gemini"),
            "{wire}"
        );
        let older = written(&Gemini, "gemini-2.5-pro", in_the_middle(wire)).to_string();
        assert!(!older.contains(SENTINEL), "{wire}");
        let over = written(&Gemini, "gemini-3-pro", later(wire)).to_string();
        assert!(!over.contains(SENTINEL), "{wire}");
    }
}

#[test]
fn nothing_of_one_providers_state_reaches_another() {
    for wire in WIRES {
        for (name, protocol) in [
            ("anthropic", &Anthropic as &dyn Protocol),
            ("gemini", &Gemini),
        ] {
            let body = written(protocol, "model", later(wire)).to_string();
            assert_eq!(body.contains("c2ln"), wire == name, "{wire} to {name}");
            assert_eq!(
                body.contains("Two cities."),
                wire == name,
                "{wire} to {name}"
            );
            assert!(!body.contains("secret"), "{wire} to {name}");
        }
    }
}

#[test]
fn thinking_waits_until_foreign_calls_are_answered() {
    for wire in WIRES {
        let thinks = |messages| {
            let mut request = ChatRequest {
                messages,
                ..ChatRequest::default()
            };
            request.options.reasoning_effort = Some("high".to_owned());
            let body = Anthropic.write("claude-sonnet-4-5", &request).unwrap();
            body.get("thinking").is_some()
        };
        assert_eq!(thinks(in_the_middle(wire)), wire == "anthropic", "{wire}");
        assert!(thinks(later(wire)), "{wire}");
    }
}

#[test]
fn a_result_without_its_call_is_refused() {
    let messages = vec![Message::new(Role::User, "hi"), Message::tool("call_9", "x")];
    for protocol in [&Anthropic as &dyn Protocol, &Gemini] {
        let request = ChatRequest {
            messages: messages.clone(),
            ..ChatRequest::default()
        };
        let error = protocol.write("model", &request).unwrap_err();
        assert_eq!(error.kind.event_code(), "invalid_request");
        assert!(
            error.message.starts_with("messages[1].tool_call_id: "),
            "{error}"
        );
        assert!(error.message.contains("call_9"), "{error}");
    }
}

/// Applies the checks of Anthropic's service.
fn check_anthropic(body: &Value) {
    let turns = body["messages"].as_array().unwrap();
    let mut asked: Vec<&str> = Vec::new();
    for (number, turn) in turns.iter().enumerate() {
        let role = turn["role"].as_str().unwrap();
        assert_ne!(
            number.checked_sub(1).map(|before| &turns[before]["role"]),
            Some(&turn["role"])
        );
        let blocks = turn["content"].as_array().unwrap();
        assert!(!blocks.is_empty());
        let of = |kind: &'static str| blocks.iter().filter(move |block| block["type"] == kind);
        let answered: Vec<&str> = of("tool_result")
            .map(|block| block["tool_use_id"].as_str().unwrap())
            .collect();
        assert!(
            blocks[..answered.len()]
                .iter()
                .all(|block| block["type"] == "tool_result")
        );
        for id in &asked {
            assert!(
                role == "user" && answered.contains(id),
                "{id} has no result"
            );
        }
        assert!(
            answered.iter().all(|id| asked.contains(id)),
            "a result without a call"
        );
        assert!(of("text").all(|block| !block["text"].as_str().unwrap().trim().is_empty()));
        assert!(of("thinking").all(|block| block["signature"].is_string()));
        asked = of("tool_use")
            .map(|block| block["id"].as_str().unwrap())
            .collect();
        let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        assert!(
            asked
                .iter()
                .all(|id| !id.is_empty() && id.chars().all(fits)),
            "{asked:?}"
        );
        assert!(of("tool_use").all(|block| block["input"].is_object()));
    }
}

/// Applies the checks of Google's service.
fn check_gemini(body: &Value, strict: bool) {
    let turns = body["contents"].as_array().unwrap();
    let is_said = |turn: &&Value| {
        turn["role"] == "user" && turn["parts"][0].get("functionResponse").is_none()
    };
    let current = turns.iter().rposition(|turn| is_said(&turn)).unwrap_or(0);
    for (number, turn) in turns.iter().enumerate() {
        let parts = turn["parts"].as_array().unwrap();
        assert!(!parts.is_empty());
        let names = |turn: &Value, kind: &str| -> Vec<Value> {
            let parts = turn["parts"].as_array().unwrap();
            parts
                .iter()
                .filter_map(|part| part.get(kind))
                .map(|call| call["name"].clone())
                .collect()
        };
        let calls = names(turn, "functionCall");
        if !calls.is_empty() {
            assert_eq!(names(&turns[number + 1], "functionResponse"), calls);
            let first = parts
                .iter()
                .find(|part| part.get("functionCall").is_some())
                .unwrap();
            if strict && number > current {
                assert!(first["thoughtSignature"].is_string());
            }
        }
        let answered = parts
            .iter()
            .filter(|part| part.get("functionResponse").is_some());
        assert!(matches!(answered.count(), count if count == 0 || count == parts.len()));
    }
}

/// Conversations of any providers in which every call has a result.
fn conversations() -> impl Strategy<Value = Vec<Message>> {
    let text = prop_oneof![Just(String::new()), Just(" \n".to_owned()), "[a-z]{1,5}"];
    let said = prop_oneof![Just(Role::User), Just(Role::Assistant), Just(Role::System)];
    let step = prop_oneof![
        (said, text).prop_map(|(role, text)| vec![Message::new(role, text)]),
        (0..4_usize, any::<bool>()).prop_map(|(wire, swap)| {
            let mut step = in_the_middle(WIRES[wire]).split_off(2);
            if swap {
                step.swap(1, 2);
            }
            step
        }),
    ];
    let steps = prop::collection::vec(step, 0..8);
    steps.prop_map(|steps| {
        let mut messages = vec![Message::new(Role::User, "Hello.")];
        for (number, mut step) in steps.into_iter().enumerate() {
            renumber(&mut step, number);
            messages.extend(step);
        }
        messages
    })
}

/// Makes ids unique per step, unless they are in Anthropic's native content.
fn renumber(step: &mut [Message], number: usize) {
    let own = step[0].native.as_ref().map(|native| native.wire.as_str());
    if own == Some("anthropic") {
        return;
    }
    let rename = |id: &mut String| *id = format!("{id}#{number}");
    step[0]
        .tool_calls
        .iter_mut()
        .for_each(|call| rename(&mut call.id));
    let results = step
        .iter_mut()
        .filter_map(|message| message.tool_call_id.as_mut());
    results.for_each(rename);
}

proptest! {
    #[test]
    fn every_conversation_becomes_one_that_the_provider_takes(messages in conversations()) {
        check_anthropic(&written(&Anthropic, "claude-sonnet-4-6", messages.clone()));
        check_gemini(&written(&Gemini, "gemini-3-pro", messages.clone()), true);
        check_gemini(&written(&Gemini, "gemini-2.5-pro", messages), false);
    }
}
