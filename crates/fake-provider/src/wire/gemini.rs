//! Gemini's generateContent, as recorded in `conformance/providers/gemini`.

use serde_json::{Value, json};

use super::event::{EventKind, StreamEvent};
use crate::request::RecordedRequest;
use crate::turn::{Finish, ReplyPart, ScriptedCall, ScriptedReply};

pub(super) fn stream(turn: &ScriptedReply, asked: &RecordedRequest) -> Vec<StreamEvent> {
    let mut pieces = groups(turn);
    if pieces.is_empty() {
        pieces.push((EventKind::Other, Vec::new()));
    }
    let of = pieces.len();
    let frames = pieces
        .into_iter()
        .enumerate()
        .map(|(index, (mark, parts))| {
            let last = index + 1 == of;
            let finish = last.then(|| reason(turn));
            let chunk = chunk(asked, &parts, finish, &usage(turn, index + 1, last));
            StreamEvent {
                bytes: format!("data: {chunk}\r\n\r\n").into(),
                mark,
            }
        });
    frames.collect()
}

/// Groups parts into events as Gemini does: each text on its own, all calls together.
fn groups(turn: &ScriptedReply) -> Vec<(EventKind, Vec<Value>)> {
    let mut groups: Vec<(EventKind, Vec<Value>)> = Vec::new();
    let mut signature = turn.signature.as_deref();
    for piece in &turn.pieces {
        match piece {
            ReplyPart::Text(text) => groups.push((EventKind::Delta, vec![json!({"text": text})])),
            ReplyPart::Reasoning(text) => {
                groups.push((
                    EventKind::Delta,
                    vec![json!({"text": text, "thought": true})],
                ));
            }
            ReplyPart::Call(call) => {
                let part = call_part(call, signature.take());
                match groups.last_mut() {
                    Some((EventKind::LastArguments, parts)) => parts.push(part),
                    _ => groups.push((EventKind::LastArguments, vec![part])),
                }
            }
        }
    }
    if let Some(signature) = signature {
        let part = json!({"text": "", "thoughtSignature": signature});
        groups.push((EventKind::Other, vec![part]));
    }
    groups
}

fn call_part(call: &ScriptedCall, signature: Option<&str>) -> Value {
    let text = call.text();
    let args = serde_json::from_str(&text).unwrap_or(Value::String(text));
    let mut part = json!({"functionCall": {"name": call.name, "args": args}});
    if let Some(signature) = signature {
        part["thoughtSignature"] = signature.into();
    }
    part
}

pub(super) fn whole(turn: &ScriptedReply, asked: &RecordedRequest) -> Value {
    let parts: Vec<Value> = groups(turn)
        .into_iter()
        .flat_map(|(_, parts)| parts)
        .collect();
    chunk(asked, &parts, Some(reason(turn)), &usage(turn, 0, true))
}

pub(super) fn error_event() -> String {
    let error = json!({
        "code": 503,
        "message": "The model is overloaded. Please try again later.",
        "status": "UNAVAILABLE",
    });
    format!("data: {}\r\n\r\n", json!({"error": error}))
}

fn chunk(asked: &RecordedRequest, parts: &[Value], finish: Option<&str>, usage: &Value) -> Value {
    let mut candidate = json!({"index": 0, "content": {"parts": parts, "role": "model"}});
    if let Some(finish) = finish {
        candidate["finishReason"] = finish.into();
    }
    json!({
        "candidates": [candidate],
        "modelVersion": asked.model,
        "responseId": "g1",
        "usageMetadata": usage,
    })
}

fn reason(turn: &ScriptedReply) -> &'static str {
    match turn.reason() {
        Finish::Stop | Finish::ToolCalls => "STOP",
        Finish::Length => "MAX_TOKENS",
        Finish::ContentFilter => "SAFETY",
    }
}

/// Returns the token usage after this many events.
fn usage(turn: &ScriptedReply, events: usize, last: bool) -> Value {
    let spent = turn.cost();
    let said = spent.output - spent.reasoning.min(spent.output);
    let so_far = if last { said } else { said.min(events as u64) };
    let mut usage = json!({
        "promptTokenCount": spent.input,
        "totalTokenCount": spent.input + so_far + spent.reasoning,
        "promptTokensDetails": [{"modality": "TEXT", "tokenCount": spent.input}],
        "candidatesTokenCount": so_far,
    });
    if spent.reasoning > 0 {
        usage["thoughtsTokenCount"] = spent.reasoning.into();
    }
    if spent.cached > 0 {
        usage["cachedContentTokenCount"] = spent.cached.into();
    }
    usage
}
