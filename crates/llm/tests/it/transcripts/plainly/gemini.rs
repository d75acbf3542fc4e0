//! Gemini's API.

use quillet_core::chat::FinishReason;
use serde_json::Value;

use super::{Plain, text};

pub fn read(pieces: &[Value]) -> Plain {
    let mut plain = Plain::default();
    let mut raw = String::new();
    for piece in pieces {
        if piece["usageMetadata"].is_object() {
            plain.usage = Some(counts(&piece["usageMetadata"]));
        }
        if let Some(message) = piece.pointer("/error/message").and_then(Value::as_str) {
            plain.error = Some(message.to_owned());
        }
        let candidate = &piece["candidates"][0];
        raw = candidate["finishReason"]
            .as_str()
            .map_or(raw, str::to_owned);
        let parts = candidate["content"]["parts"].as_array();
        parts
            .into_iter()
            .flatten()
            .for_each(|part| read_part(part, &mut plain));
    }
    plain.stop = match raw.as_str() {
        "" => None,
        "MAX_TOKENS" => Some(FinishReason::Length),
        "SAFETY" => Some(FinishReason::ContentFilter),
        _ if plain.calls.is_empty() => Some(FinishReason::Stop),
        _ => Some(FinishReason::ToolCalls),
    };
    plain
}

fn read_part(part: &Value, plain: &mut Plain) {
    match part["thought"].as_bool() {
        Some(true) => plain.reasoning.push_str(text(&part["text"])),
        _ => plain.text.push_str(text(&part["text"])),
    }
    let call = &part["functionCall"];
    if call.is_object() {
        plain.calls.push((
            call["id"].as_str().map(str::to_owned),
            text(&call["name"]).to_owned(),
            call["args"].to_string(),
        ));
    }
    let kept = ["thoughtSignature", "executableCode", "codeExecutionResult"];
    if kept.iter().any(|name| part.get(name).is_some()) {
        plain.kept.push(part.clone());
    }
}

fn counts(usage: &Value) -> [u64; 5] {
    let count = |pointer: &str| super::count(usage, &[pointer]);
    let thoughts = count("/thoughtsTokenCount");
    [
        count("/promptTokenCount") + count("/toolUsePromptTokenCount"),
        count("/candidatesTokenCount") + thoughts,
        thoughts,
        count("/cachedContentTokenCount"),
        0,
    ]
}
