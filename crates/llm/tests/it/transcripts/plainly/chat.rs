//! OpenAI's Chat Completions API.

use quillet_core::chat::FinishReason;
use serde_json::Value;

use super::{Plain, count, text};

pub fn read(pieces: &[Value]) -> Plain {
    let mut plain = Plain::default();
    let field = match pieces {
        [only] if only.pointer("/choices/0/message").is_some() => "message",
        _ => "delta",
    };
    let mut raw = String::new();
    for piece in pieces {
        for usage in [&piece["x_groq"]["usage"], &piece["usage"]] {
            if usage.is_object() {
                plain.usage = Some(read_usage(usage));
            }
        }
        if let Some(message) = piece.pointer("/error/message").and_then(Value::as_str) {
            plain.error = Some(message.to_owned());
        }
        let choices = piece["choices"].as_array().into_iter().flatten();
        for choice in choices.filter(|choice| choice["index"].as_u64().unwrap_or(0) == 0) {
            read_delta(&choice[field], &mut plain);
            if let Some(reason) = choice["finish_reason"].as_str() {
                raw = reason.to_owned();
            }
        }
    }
    plain.stop = match raw.as_str() {
        "" => None,
        "length" => Some(FinishReason::Length),
        "content_filter" => Some(FinishReason::ContentFilter),
        "error" => Some(FinishReason::Error),
        "tool_calls" => Some(FinishReason::ToolCalls),
        _ if plain.calls.is_empty() => Some(FinishReason::Stop),
        _ => Some(FinishReason::ToolCalls),
    };
    plain
}

fn read_delta(delta: &Value, plain: &mut Plain) {
    plain.text.push_str(text(&delta["content"]));
    for part in delta["content"].as_array().into_iter().flatten() {
        plain.text.push_str(text(&part["text"]));
        for thought in part["thinking"].as_array().into_iter().flatten() {
            plain.reasoning.push_str(text(&thought["text"]));
        }
    }
    plain.refusal.push_str(text(&delta["refusal"]));
    let details = delta["reasoning_details"].as_array().into_iter().flatten();
    let details: String = details
        .map(|detail| format!("{}{}", text(&detail["text"]), text(&detail["summary"])))
        .collect();
    let reasoning = [&delta["reasoning_content"], &delta["reasoning"]];
    let reasoning = reasoning
        .into_iter()
        .map(text)
        .find(|text| !text.is_empty());
    plain.reasoning.push_str(reasoning.unwrap_or(&details));
    for call in delta["tool_calls"].as_array().into_iter().flatten() {
        let id = call["id"].as_str().filter(|id| !id.is_empty());
        let function = &call["function"];
        if let Some(name) = function["name"].as_str().filter(|name| !name.is_empty()) {
            plain
                .calls
                .push((id.map(str::to_owned), name.to_owned(), String::new()));
        }
        if let Some((.., arguments)) = plain.calls.last_mut() {
            arguments.push_str(text(&function["arguments"]));
        }
    }
}

fn read_usage(usage: &Value) -> [u64; 5] {
    let reasoning = count(
        usage,
        &[
            "/completion_tokens_details/reasoning_tokens",
            "/reasoning_tokens",
        ],
    );
    let input = count(usage, &["/prompt_tokens"]);
    let mut output = count(usage, &["/completion_tokens"]);
    if reasoning > 0 && input + output + reasoning == count(usage, &["/total_tokens"]) {
        output += reasoning;
    }
    let read = [
        "/prompt_tokens_details/cached_tokens",
        "/prompt_cache_hit_tokens",
        "/cache_read_input_tokens",
    ];
    let written = [
        "/prompt_tokens_details/cache_write_tokens",
        "/cache_creation_input_tokens",
    ];
    [
        input,
        output,
        reasoning,
        count(usage, &read),
        count(usage, &written),
    ]
}
