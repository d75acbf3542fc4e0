//! Anthropic's messages, as recorded in `conformance/providers/anthropic`.

use serde_json::{Value, json};

use super::event::{EventKind, StreamEvent, arguments_mark};
use crate::request::RecordedRequest;
use crate::turn::{ContentBlock, Finish, ScriptedCall, ScriptedReply};

pub(super) fn stream(turn: &ScriptedReply, asked: &RecordedRequest) -> Vec<StreamEvent> {
    let message = message(turn, asked, &json!([]), &Value::Null, 1);
    let start = json!({"type": "message_start", "message": message});
    let mut frames = vec![StreamEvent::typed(EventKind::Other, &start)];
    for (index, block) in turn.blocks().iter().enumerate() {
        let start =
            json!({"type": "content_block_start", "index": index, "content_block": begun(block)});
        frames.push(StreamEvent::typed(EventKind::Other, &start));
        if index == 0 && matches!(block, ContentBlock::Text(_)) {
            frames.push(StreamEvent::typed(
                EventKind::Other,
                &json!({"type": "ping"}),
            ));
        }
        let deltas = deltas(turn, block).into_iter().map(|(mark, delta)| {
            let delta = json!({"type": "content_block_delta", "index": index, "delta": delta});
            StreamEvent::typed(mark, &delta)
        });
        frames.extend(deltas);
        let stop = json!({"type": "content_block_stop", "index": index});
        frames.push(StreamEvent::typed(EventKind::Other, &stop));
    }
    let delta = json!({"stop_reason": reason(turn), "stop_sequence": null});
    let usage = json!({"output_tokens": turn.cost().output});
    let last = json!({"type": "message_delta", "delta": delta, "usage": usage});
    frames.push(StreamEvent::typed(EventKind::Other, &last));
    frames.push(StreamEvent::typed(
        EventKind::Other,
        &json!({"type": "message_stop"}),
    ));
    frames
}

fn begun(block: &ContentBlock<'_>) -> Value {
    match block {
        ContentBlock::Text(_) => json!({"type": "text", "text": ""}),
        ContentBlock::Reasoning(_) => json!({"type": "thinking", "thinking": "", "signature": ""}),
        ContentBlock::Call(call) => {
            json!({"type": "tool_use", "id": call.id, "name": call.name, "input": {}})
        }
    }
}

fn deltas(turn: &ScriptedReply, block: &ContentBlock<'_>) -> Vec<(EventKind, Value)> {
    match block {
        ContentBlock::Text(texts) => texts
            .iter()
            .map(|text| {
                (
                    EventKind::Delta,
                    json!({"type": "text_delta", "text": text}),
                )
            })
            .collect(),
        ContentBlock::Reasoning(texts) => {
            let delta = |text| json!({"type": "thinking_delta", "thinking": text});
            let mut deltas: Vec<_> = texts
                .iter()
                .map(|text| (EventKind::Delta, delta(*text)))
                .collect();
            if let Some(signature) = &turn.signature {
                let delta = json!({"type": "signature_delta", "signature": signature});
                deltas.push((EventKind::Other, delta));
            }
            deltas
        }
        ContentBlock::Call(call) => arguments(call),
    }
}

/// Returns the events with a call's arguments. Anthropic begins them with an empty delta.
fn arguments(call: &ScriptedCall) -> Vec<(EventKind, Value)> {
    let delta = |text: &str| json!({"type": "input_json_delta", "partial_json": text});
    let mut deltas = vec![(EventKind::Other, delta(""))];
    let of = call.arguments.len();
    let pieces = call.arguments.iter().enumerate();
    deltas.extend(pieces.map(|(index, piece)| (arguments_mark(index, of), delta(piece))));
    deltas
}

pub(super) fn whole(turn: &ScriptedReply, asked: &RecordedRequest) -> Value {
    let content: Vec<Value> = turn
        .blocks()
        .iter()
        .map(|block| done(turn, block))
        .collect();
    let output = turn.cost().output;
    message(turn, asked, &content.into(), &reason(turn).into(), output)
}

fn done(turn: &ScriptedReply, block: &ContentBlock<'_>) -> Value {
    let mut done = begun(block);
    match block {
        ContentBlock::Text(texts) => done["text"] = texts.concat().into(),
        ContentBlock::Reasoning(texts) => {
            done["thinking"] = texts.concat().into();
            done["signature"] = turn.signature.clone().unwrap_or_default().into();
        }
        ContentBlock::Call(call) => {
            let text = call.text();
            done["input"] = serde_json::from_str(&text).unwrap_or(Value::String(text));
        }
    }
    done
}

pub(super) fn error_event() -> String {
    let error = json!({"type": "overloaded_error", "message": "Overloaded"});
    let event = json!({"type": "error", "error": error, "request_id": "req_1"});
    format!("event: error\ndata: {event}\n\n")
}

fn message(
    turn: &ScriptedReply,
    asked: &RecordedRequest,
    content: &Value,
    reason: &Value,
    output: u64,
) -> Value {
    let spent = turn.cost();
    json!({
        "id": "msg_v1",
        "type": "message",
        "role": "assistant",
        "model": asked.model,
        "content": content,
        "stop_reason": reason,
        "stop_sequence": null,
        "usage": {
            "input_tokens": spent.input.saturating_sub(spent.cached),
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": spent.cached,
            "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0},
            "output_tokens": output,
            "service_tier": "standard",
        },
    })
}

fn reason(turn: &ScriptedReply) -> &'static str {
    match turn.reason() {
        Finish::Stop => "end_turn",
        Finish::ToolCalls => "tool_use",
        Finish::Length => "max_tokens",
        Finish::ContentFilter => "refusal",
    }
}
