//! Malicious answers and requests in the formats of Anthropic and Gemini.

use proptest::prelude::*;
use quillet_llm::{Anthropic, Gemini, Protocol};
use serde_json::{Value, json};

use crate::transcripts::play;

/// Deep enough to overflow the stack of any unbounded recursion.
const DEEP: usize = 200_000;

const PROTOCOLS: [&dyn Protocol; 2] = [&Anthropic, &Gemini];

fn read_all(protocol: &dyn Protocol, pieces: &[Vec<u8>]) {
    let mut decoder = protocol.decoder("model");
    let mut events = Vec::new();
    for piece in pieces {
        if decoder.event(None, piece, &mut events).is_err() {
            break;
        }
    }
    let _ = decoder.end(&mut events);
    for piece in pieces {
        let _ = protocol.decoder("model").decode_body(piece, &mut events);
        let _ = protocol.refusal(400, &String::from_utf8_lossy(piece));
        if let Ok(body) = serde_json::from_slice::<Value>(piece) {
            read_and_write(protocol, &body);
        }
    }
}

/// Any accepted request can be encoded or is rejected with a reason.
fn read_and_write(protocol: &dyn Protocol, body: &Value) {
    if let Ok(request) = protocol.read(body) {
        let _ = protocol.write("claude-opus-4-8", &request);
        let _ = protocol.write("gemini-3-pro", &request);
    }
}

#[test]
fn deep_json_is_an_error_and_no_overflow() {
    let deep = format!("{}{}", "[".repeat(DEEP), "]".repeat(DEEP));
    for protocol in PROTOCOLS {
        for body in [
            deep.clone(),
            "[".repeat(DEEP),
            format!("{{\"a\":{deep}}}"),
            "{\"content\":".repeat(DEEP),
        ] {
            read_all(protocol, &[body.into_bytes()]);
        }
    }
    let start = json!({"type": "message_start", "message": {"id": "m"}});
    let block = json!({"type": "content_block_start", "index": 0,
        "content_block": {"type": "tool_use", "id": "t", "name": "x", "input": {}}});
    let delta = json!({"type": "content_block_delta", "index": 0,
        "delta": {"type": "input_json_delta", "partial_json": format!("{{\"a\":{deep}}}")}});
    let stop = json!({"type": "message_stop"});
    let body: String = [start, block, delta, stop]
        .iter()
        .map(|event| format!("data: {event}\n\n"))
        .collect();
    let outcome = play(&Anthropic, &body);
    assert!(outcome.error.is_none());
    let choice = &outcome.reply.choices[0];
    assert_eq!(choice.tool_calls[0].arguments_object(), None);
    assert!(
        choice.native.is_none(),
        "such arguments have no form in the wire"
    );
}

#[test]
fn numbers_that_are_no_sizes_take_no_memory() {
    let far = u64::MAX;
    let events = [
        json!({"type": "message_start", "message": {"id": "m", "usage": {"input_tokens": far, "cache_read_input_tokens": far}}}),
        json!({"type": "content_block_start", "index": far, "content_block": {"type": "text", "text": "a"}}),
        json!({"type": "content_block_delta", "index": far - 1, "delta": {"type": "text_delta", "text": "lost"}}),
        json!({"type": "content_block_delta", "index": far, "delta": {"type": "text_delta", "text": "b"}}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": far}}),
        json!({"type": "message_stop"}),
    ];
    let body: String = events
        .iter()
        .map(|event| format!("data: {event}\n\n"))
        .collect();
    let outcome = play(&Anthropic, &body);
    assert_eq!(outcome.reply.choices[0].text, "ab");
    assert_eq!(outcome.reply.usage.unwrap().total_tokens(), far);

    let body = json!({"candidates": [{"index": far, "finishReason": "STOP"}]}).to_string();
    let error = play(&Gemini, &body).error.unwrap();
    assert_eq!(
        (error.kind.event_code().as_str(), error.message.as_str()),
        ("server_error", "the index of a candidate is out of range")
    );
}

/// Words that the decoders look for, so random bodies reach more code.
const WORDS: [&str; 34] = [
    "type",
    "message_start",
    "content_block_start",
    "content_block_delta",
    "content_block_stop",
    "message_delta",
    "message_stop",
    "error",
    "message",
    "index",
    "content_block",
    "delta",
    "tool_use",
    "tool_result",
    "text",
    "thinking",
    "text_delta",
    "input_json_delta",
    "partial_json",
    "usage",
    "content",
    "candidates",
    "parts",
    "functionCall",
    "functionResponse",
    "partialArgs",
    "jsonPath",
    "$.a[0]",
    "willContinue",
    "finishReason",
    "STOP",
    "role",
    "user",
    "name",
];

fn word() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => prop::sample::select(WORDS.to_vec()).prop_map(str::to_owned),
        1 => ".{0,4}",
    ]
}

fn json_of_words() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        word().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (0..3_u64).prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        Just(Value::Null),
    ];
    leaf.prop_recursive(5, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::hash_map(word(), inner, 0..6).prop_map(|members| members
                .into_iter()
                .collect::<serde_json::Map<_, _>>()
                .into()),
        ]
    })
}

/// Real answers and bodies to be damaged.
fn seeds() -> Vec<Value> {
    vec![
        json!({"type": "message_start", "message": {"id": "m", "usage": {"input_tokens": 1}}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "id": "t", "name": "x", "input": {}}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": "{\"a\":1}"}}),
        json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 2}}),
        json!({"type": "message_stop"}),
        json!({"candidates": [{"index": 0, "content": {"parts": [{"text": "a", "thought": true},
            {"functionCall": {"name": "f", "partialArgs": [{"jsonPath": "$.a.b[0]", "stringValue": "x"}], "willContinue": true}}]}}]}),
        json!({"candidates": [{"content": {"parts": [{"functionCall": {}}]}, "finishReason": "STOP"}], "usageMetadata": {"promptTokenCount": 1}}),
        json!({"model": "m", "max_tokens": 1, "system": "s", "tools": [{"name": "t", "input_schema": {}}], "messages": [
            {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "x", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "x"}]}]}),
        json!({"contents": [{"role": "model", "parts": [{"functionCall": {"name": "f"}}]},
            {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {}}}]}], "generationConfig": {"topK": 1}}),
    ]
}

/// Replaces one part of a value.
fn damage(value: &mut Value, mut place: usize, with: &Value) {
    let mut stack = vec![value];
    while let Some(value) = stack.pop() {
        if place == 0 {
            *value = with.clone();
            return;
        }
        place -= 1;
        match value {
            Value::Array(items) => stack.extend(items.iter_mut()),
            Value::Object(members) => stack.extend(members.values_mut()),
            _ => {}
        }
    }
}

proptest! {
    #[test]
    fn bytes_never_break_a_reader(pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..64), 0..4)) {
        PROTOCOLS.into_iter().for_each(|protocol| read_all(protocol, &pieces));
    }

    #[test]
    fn json_never_breaks_a_reader(values in prop::collection::vec(json_of_words(), 0..6)) {
        let pieces: Vec<Vec<u8>> = values.iter().map(|value| value.to_string().into_bytes()).collect();
        PROTOCOLS.into_iter().for_each(|protocol| read_all(protocol, &pieces));
    }

    #[test]
    fn damaged_answers_never_break_a_reader(
        at in any::<prop::sample::Index>(), place in 0..12_usize, with in json_of_words(), cut in any::<prop::sample::Index>(),
    ) {
        let mut seeds = seeds();
        let at = at.index(seeds.len());
        damage(&mut seeds[at], place, &with);
        let mut pieces: Vec<Vec<u8>> = seeds.iter().map(|seed| seed.to_string().into_bytes()).collect();
        PROTOCOLS.into_iter().for_each(|protocol| read_all(protocol, &pieces));
        let cut = cut.index(pieces[at].len());
        pieces[at].truncate(cut);
        PROTOCOLS.into_iter().for_each(|protocol| read_all(protocol, &pieces));
    }
}
