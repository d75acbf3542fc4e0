//! OpenAI's chat completions, as recorded in `conformance/providers/openai-chat`.

use serde_json::{Value, json};

use super::event::{CREATED, EventKind, StreamEvent, arguments_mark};
use crate::request::RecordedRequest;
use crate::turn::{Finish, ReplyPart, ScriptedCall, ScriptedReply};

pub(super) fn stream(turn: &ScriptedReply, asked: &RecordedRequest) -> Vec<StreamEvent> {
    let with_reasoning = turn.all_reasoning().is_some();
    let chunk = |mark, delta: Value, finish: Option<&str>| {
        let choice = json!({"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish});
        let mut chunk = head(asked);
        chunk["choices"] = json!([choice]);
        if asked.include_usage {
            chunk["usage"] = Value::Null;
        }
        StreamEvent::data(mark, &chunk)
    };
    let role = json!({"role": "assistant", "content": "", "refusal": null});
    let mut frames = vec![chunk(EventKind::Other, role, None)];
    let mut calls = 0;
    for piece in &turn.pieces {
        match piece {
            ReplyPart::Text(text) => {
                let mut delta = json!({"content": text});
                if with_reasoning {
                    delta["reasoning_content"] = Value::Null;
                }
                frames.push(chunk(EventKind::Delta, delta, None));
            }
            ReplyPart::Reasoning(text) => {
                let delta = json!({"content": null, "reasoning_content": text});
                frames.push(chunk(EventKind::Delta, delta, None));
            }
            ReplyPart::Call(call) => {
                let deltas = call_deltas(calls, call);
                frames.extend(deltas.map(|(mark, delta)| chunk(mark, delta, None)));
                calls += 1;
            }
        }
    }
    frames.push(chunk(EventKind::Other, json!({}), Some(reason(turn))));
    if asked.include_usage {
        let mut last = head(asked);
        last["usage"] = usage(turn);
        last["choices"] = json!([]);
        frames.push(StreamEvent::data(EventKind::Other, &last));
    }
    frames.push(StreamEvent::data(EventKind::Other, &Value::Null));
    if let Some(done) = frames.last_mut() {
        done.bytes = "data: [DONE]\n\n".into();
    }
    frames
}

fn call_deltas(index: usize, call: &ScriptedCall) -> impl Iterator<Item = (EventKind, Value)> {
    let function = json!({"name": call.name, "arguments": ""});
    let first = json!({"index": index, "id": call.id, "type": "function", "function": function});
    let of = call.arguments.len();
    let rest = call.arguments.iter().enumerate().map(move |(at, piece)| {
        let delta = json!({"index": index, "function": {"arguments": piece}});
        (arguments_mark(at, of), json!({"tool_calls": [delta]}))
    });
    std::iter::once((EventKind::Other, json!({"tool_calls": [first]}))).chain(rest)
}

pub(super) fn whole(turn: &ScriptedReply, asked: &RecordedRequest) -> Value {
    let mut message = json!({"role": "assistant", "content": turn.all_text(), "refusal": null});
    if let Some(reasoning) = turn.all_reasoning() {
        message["reasoning_content"] = reasoning.into();
    }
    let call = |call: &ScriptedCall| {
        let function = json!({"name": call.name, "arguments": call.text()});
        json!({"id": call.id, "type": "function", "function": function})
    };
    let calls: Vec<Value> = turn.calls().map(call).collect();
    if !calls.is_empty() {
        message["tool_calls"] = calls.into();
    }
    let choice =
        json!({"index": 0, "message": message, "logprobs": null, "finish_reason": reason(turn)});
    json!({
        "id": "chatcmpl-v1",
        "object": "chat.completion",
        "created": CREATED,
        "model": asked.model,
        "choices": [choice],
        "usage": usage(turn),
    })
}

pub(super) fn error_event() -> String {
    let error = json!({
        "message": "The server had an error while processing your request.",
        "type": "server_error",
        "param": null,
        "code": null,
    });
    format!("data: {}\n\ndata: [DONE]\n\n", json!({"error": error}))
}

fn head(asked: &RecordedRequest) -> Value {
    json!({
        "id": "chatcmpl-v1",
        "object": "chat.completion.chunk",
        "created": CREATED,
        "model": asked.model,
        "service_tier": "default",
        "system_fingerprint": "fp_5af61",
    })
}

fn reason(turn: &ScriptedReply) -> &'static str {
    match turn.reason() {
        Finish::Stop => "stop",
        Finish::ToolCalls => "tool_calls",
        Finish::Length => "length",
        Finish::ContentFilter => "content_filter",
    }
}

fn usage(turn: &ScriptedReply) -> Value {
    let spent = turn.cost();
    json!({
        "prompt_tokens": spent.input,
        "completion_tokens": spent.output,
        "total_tokens": spent.input + spent.output,
        "prompt_tokens_details": {"cached_tokens": spent.cached, "audio_tokens": 0},
        "completion_tokens_details": {
            "reasoning_tokens": spent.reasoning,
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    })
}
