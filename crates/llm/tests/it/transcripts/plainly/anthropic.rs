//! Anthropic's Messages API.

use std::collections::BTreeMap;

use quillet_core::chat::FinishReason;
use serde_json::{Map, Value, json};

use super::{Plain, text};

pub fn read(pieces: &[Value]) -> Plain {
    let mut plain = Plain::default();
    let mut usage = Map::new();
    let mut raw = String::new();
    for piece in pieces {
        for place in ["/usage", "/message/usage"] {
            let given = piece.pointer(place).and_then(Value::as_object);
            let given = given
                .into_iter()
                .flatten()
                .filter(|(_, count)| !count.is_null());
            usage.extend(given.map(|(name, count)| (name.clone(), count.clone())));
        }
        for place in ["/stop_reason", "/delta/stop_reason"] {
            let reason = piece.pointer(place).and_then(Value::as_str);
            raw = reason.map_or(raw, str::to_owned);
        }
        if let Some(message) = piece.pointer("/error/message").and_then(Value::as_str) {
            plain.error = Some(message.to_owned());
        }
    }
    let blocks = blocks(pieces);
    for block in &blocks {
        match text(&block["type"]) {
            "text" => plain.text.push_str(text(&block["text"])),
            "thinking" => plain.reasoning.push_str(text(&block["thinking"])),
            "tool_use" => plain.calls.push((
                Some(text(&block["id"]).to_owned()),
                text(&block["name"]).to_owned(),
                block["input"].to_string(),
            )),
            _ => {}
        }
    }
    plain.kept = kept(blocks);
    plain.usage = (!usage.is_empty()).then(|| counts(&usage.into()));
    plain.stop = match raw.as_str() {
        "" => None,
        "tool_use" => Some(FinishReason::ToolCalls),
        "max_tokens" => Some(FinishReason::Length),
        "refusal" => Some(FinishReason::Refusal),
        "pause_turn" => Some(FinishReason::Pause),
        _ => Some(FinishReason::Stop),
    };
    plain
}

/// Returns the blocks of a complete message, or assembles them from a stream.
fn blocks(pieces: &[Value]) -> Vec<Value> {
    if let [Value::Object(whole)] = pieces
        && let Some(blocks) = whole.get("content").and_then(Value::as_array)
    {
        return blocks.clone();
    }
    let mut blocks = BTreeMap::new();
    let mut inputs: BTreeMap<u64, String> = BTreeMap::new();
    for piece in pieces {
        let Some(index) = piece["index"].as_u64() else {
            continue;
        };
        if piece["content_block"].is_object() {
            blocks.insert(index, piece["content_block"].clone());
        }
        let (block, delta) = (blocks.entry(index).or_default(), &piece["delta"]);
        for name in ["text", "thinking"] {
            if let Some(more) = delta[name].as_str() {
                block[name] = json!(format!("{}{more}", text(&block[name])));
            }
        }
        if delta["signature"].is_string() {
            block["signature"] = delta["signature"].clone();
        }
        inputs
            .entry(index)
            .or_default()
            .push_str(text(&delta["partial_json"]));
    }
    for (index, input) in inputs.iter().filter(|(_, input)| !input.is_empty()) {
        blocks.entry(*index).or_default()["input"] = serde_json::from_str(input).unwrap();
    }
    blocks.into_values().collect()
}

/// Returns the blocks other than text and calls.
fn kept(blocks: Vec<Value>) -> Vec<Value> {
    let known = ["type", "text", "id", "name", "input"];
    let is_more = |block: &Value| {
        let members = block.as_object().into_iter().flatten();
        let mut members = members.filter(|(_, value)| !value.is_null());
        members.any(|(key, _)| !known.contains(&key.as_str()))
    };
    blocks.into_iter().filter(is_more).collect()
}

fn counts(usage: &Value) -> [u64; 5] {
    let count = |pointer: &str| super::count(usage, &[pointer]);
    let read = count("/cache_read_input_tokens");
    let written = count("/cache_creation_input_tokens");
    [
        count("/input_tokens") + read + written,
        count("/output_tokens"),
        count("/output_tokens_details/thinking_tokens"),
        read,
        written,
    ]
}
