//! OpenAI's Responses API; the final object contains everything.

use quillet_core::chat::FinishReason;
use serde_json::Value;

use super::{Plain, count, text};

pub fn read(pieces: &[Value]) -> Plain {
    let mut plain = Plain::default();
    let last = pieces.iter().rev().find_map(|piece| match piece {
        piece if piece["object"] == "response" => Some(piece),
        piece => piece
            .get("response")
            .filter(|response| response["usage"].is_object()),
    });
    let Some(last) = last else {
        return plain;
    };
    let mut items = last["output"].as_array().cloned().unwrap_or_default();
    if items.is_empty() {
        // Some servers leave the final list empty.
        let done = pieces
            .iter()
            .filter(|piece| piece["type"] == "response.output_item.done");
        items = done.map(|piece| piece["item"].clone()).collect();
    }
    items.iter().for_each(|item| read_item(item, &mut plain));
    let reason = text(&last["incomplete_details"]["reason"]);
    plain.stop = match (text(&last["status"]), reason) {
        ("completed", _) if plain.calls.is_empty() => Some(FinishReason::Stop),
        ("completed", _) => Some(FinishReason::ToolCalls),
        ("incomplete", "content_filter") => Some(FinishReason::ContentFilter),
        ("incomplete", _) => Some(FinishReason::Length),
        _ => None,
    };
    let usage = &last["usage"];
    plain.usage = usage.is_object().then(|| {
        [
            count(usage, &["/input_tokens"]),
            count(usage, &["/output_tokens"]),
            count(usage, &["/output_tokens_details/reasoning_tokens"]),
            count(usage, &["/input_tokens_details/cached_tokens"]),
            count(usage, &["/input_tokens_details/cache_write_tokens"]),
        ]
    });
    plain
}

fn read_item(item: &Value, plain: &mut Plain) {
    match text(&item["type"]) {
        "message" => {
            for part in item["content"].as_array().into_iter().flatten() {
                plain.text.push_str(text(&part["text"]));
                plain.refusal.push_str(text(&part["refusal"]));
            }
        }
        "reasoning" => {
            let summary = item["summary"].as_array().into_iter().flatten();
            let content = item["content"].as_array().into_iter().flatten();
            let parts: Vec<&str> = summary.map(|part| text(&part["text"])).collect();
            plain.reasoning.push_str(&parts.join("\n\n"));
            content.for_each(|part| plain.reasoning.push_str(text(&part["text"])));
        }
        "function_call" => plain.calls.push((
            Some(text(&item["call_id"]).to_owned()),
            text(&item["name"]).to_owned(),
            text(&item["arguments"]).to_owned(),
        )),
        _ => {}
    }
}
