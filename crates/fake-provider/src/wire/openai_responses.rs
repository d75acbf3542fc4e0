//! OpenAI's Responses, as recorded in `conformance/providers/openai-responses`.

use serde_json::{Value, json};

use super::event::{CREATED, EventKind, StreamEvent, arguments_mark};
use crate::request::RecordedRequest;
use crate::turn::{ContentBlock, Finish, ScriptedCall, ScriptedReply};

/// Collects events in order and numbers them.
struct Events {
    frames: Vec<StreamEvent>,
}

impl Events {
    fn push(&mut self, mark: EventKind, kind: &str, members: Value) {
        let mut event = json!({"type": kind, "sequence_number": self.frames.len()});
        if let (Some(event), Value::Object(members)) = (event.as_object_mut(), members) {
            event.extend(members);
        }
        self.frames.push(StreamEvent::typed(mark, &event));
    }
}

pub(super) fn stream(turn: &ScriptedReply, asked: &RecordedRequest) -> Vec<StreamEvent> {
    let mut events = Events { frames: Vec::new() };
    let begun = response(asked, "in_progress", &[], &Value::Null, &Value::Null);
    events.push(
        EventKind::Other,
        "response.created",
        json!({"response": begun}),
    );
    events.push(
        EventKind::Other,
        "response.in_progress",
        json!({"response": begun}),
    );
    let mut output = Vec::new();
    for (index, block) in turn.blocks().iter().enumerate() {
        let item = item(turn, block, index);
        match block {
            ContentBlock::Text(texts) => message(&mut events, texts, index, &item),
            ContentBlock::Reasoning(texts) => reasoning(&mut events, texts, index, &item),
            ContentBlock::Call(call) => function_call(&mut events, call, index, &item),
        }
        output.push(item);
    }
    let (status, details) = ending(turn);
    let last = response(asked, status, &output, &details, &usage(turn));
    let kind = format!("response.{status}");
    events.push(EventKind::Other, &kind, json!({"response": last}));
    events.frames
}

fn message(events: &mut Events, texts: &[&str], index: usize, item: &Value) {
    let id = &item["id"];
    let begun = json!({"id": id, "type": "message", "status": "in_progress", "role": "assistant", "content": []});
    events.push(
        EventKind::Other,
        "response.output_item.added",
        json!({"output_index": index, "item": begun}),
    );
    let at = json!({"item_id": id, "output_index": index, "content_index": 0});
    let part = text_part("");
    events.push(
        EventKind::Other,
        "response.content_part.added",
        with(&at, json!({"part": part})),
    );
    for text in texts {
        let delta = with(&at, json!({"delta": text, "logprobs": []}));
        events.push(EventKind::Delta, "response.output_text.delta", delta);
    }
    let text = texts.concat();
    let done = with(&at, json!({"text": text, "logprobs": []}));
    events.push(EventKind::Other, "response.output_text.done", done);
    let part = with(&at, json!({"part": text_part(&text)}));
    events.push(EventKind::Other, "response.content_part.done", part);
    item_done(events, index, item);
}

fn reasoning(events: &mut Events, texts: &[&str], index: usize, item: &Value) {
    let mut begun = item.clone();
    begun["summary"] = json!([]);
    events.push(
        EventKind::Other,
        "response.output_item.added",
        json!({"output_index": index, "item": begun}),
    );
    let at = json!({"item_id": item["id"], "output_index": index, "summary_index": 0});
    let part = |text: &str| json!({"part": {"type": "summary_text", "text": text}});
    events.push(
        EventKind::Other,
        "response.reasoning_summary_part.added",
        with(&at, part("")),
    );
    for text in texts {
        let delta = with(&at, json!({"delta": text}));
        events.push(
            EventKind::Delta,
            "response.reasoning_summary_text.delta",
            delta,
        );
    }
    let text = texts.concat();
    let done = with(&at, json!({"text": text}));
    events.push(
        EventKind::Other,
        "response.reasoning_summary_text.done",
        done,
    );
    events.push(
        EventKind::Other,
        "response.reasoning_summary_part.done",
        with(&at, part(&text)),
    );
    item_done(events, index, item);
}

fn function_call(events: &mut Events, call: &ScriptedCall, index: usize, item: &Value) {
    let mut begun = item.clone();
    begun["status"] = "in_progress".into();
    begun["arguments"] = "".into();
    events.push(
        EventKind::Other,
        "response.output_item.added",
        json!({"output_index": index, "item": begun}),
    );
    let at = json!({"item_id": item["id"], "output_index": index});
    for (number, piece) in call.arguments.iter().enumerate() {
        let mark = arguments_mark(number, call.arguments.len());
        let delta = with(&at, json!({"delta": piece}));
        events.push(mark, "response.function_call_arguments.delta", delta);
    }
    let done = with(&at, json!({"arguments": call.text()}));
    events.push(
        EventKind::Other,
        "response.function_call_arguments.done",
        done,
    );
    item_done(events, index, item);
}

fn item_done(events: &mut Events, index: usize, item: &Value) {
    let done = json!({"output_index": index, "item": item});
    events.push(EventKind::Other, "response.output_item.done", done);
}

/// Returns a completed output item.
fn item(turn: &ScriptedReply, block: &ContentBlock<'_>, index: usize) -> Value {
    let number = index + 1;
    match block {
        ContentBlock::Text(texts) => json!({
            "id": format!("msg_{number}"),
            "type": "message",
            "status": "completed",
            "role": "assistant",
            "content": [text_part(&texts.concat())],
        }),
        ContentBlock::Reasoning(texts) => {
            let summary = json!([{"type": "summary_text", "text": texts.concat()}]);
            let mut item =
                json!({"id": format!("rs_{number}"), "type": "reasoning", "summary": summary});
            if let Some(signature) = &turn.signature {
                item["encrypted_content"] = signature.as_str().into();
            }
            item
        }
        ContentBlock::Call(call) => json!({
            "id": format!("fc_{number}"),
            "type": "function_call",
            "status": "completed",
            "arguments": call.text(),
            "call_id": call.id,
            "name": call.name,
        }),
    }
}

fn text_part(text: &str) -> Value {
    json!({"type": "output_text", "text": text, "annotations": [], "logprobs": []})
}

fn with(at: &Value, members: Value) -> Value {
    let mut all = at.clone();
    if let (Some(all), Value::Object(members)) = (all.as_object_mut(), members) {
        all.extend(members);
    }
    all
}

pub(super) fn whole(turn: &ScriptedReply, asked: &RecordedRequest) -> Value {
    let blocks = turn.blocks();
    let items = blocks.iter().enumerate();
    let output: Vec<Value> = items
        .map(|(index, block)| item(turn, block, index))
        .collect();
    let (status, details) = ending(turn);
    response(asked, status, &output, &details, &usage(turn))
}

pub(super) fn error_event(number: usize) -> String {
    let error = json!({
        "type": "error",
        "sequence_number": number,
        "code": "server_error",
        "message": "The server had an error while processing your request.",
        "param": null,
    });
    format!("event: error\ndata: {error}\n\n")
}

fn ending(turn: &ScriptedReply) -> (&'static str, Value) {
    match turn.reason() {
        Finish::Stop | Finish::ToolCalls => ("completed", Value::Null),
        Finish::Length => ("incomplete", json!({"reason": "max_output_tokens"})),
        Finish::ContentFilter => ("incomplete", json!({"reason": "content_filter"})),
    }
}

fn response(
    asked: &RecordedRequest,
    status: &str,
    output: &[Value],
    incomplete_details: &Value,
    usage: &Value,
) -> Value {
    json!({
        "id": "resp_v1",
        "object": "response",
        "created_at": CREATED,
        "status": status,
        "background": false,
        "error": null,
        "incomplete_details": incomplete_details,
        "instructions": null,
        "max_output_tokens": null,
        "model": asked.model,
        "output": output,
        "parallel_tool_calls": true,
        "previous_response_id": null,
        "reasoning": {"effort": "medium", "summary": "auto"},
        "service_tier": "default",
        "store": false,
        "temperature": 1.0,
        "text": {"format": {"type": "text"}, "verbosity": "medium"},
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "truncation": "disabled",
        "usage": usage,
        "user": null,
        "metadata": {},
    })
}

fn usage(turn: &ScriptedReply) -> Value {
    let spent = turn.cost();
    json!({
        "input_tokens": spent.input,
        "input_tokens_details": {"cached_tokens": spent.cached, "cache_write_tokens": 0},
        "output_tokens": spent.output,
        "output_tokens_details": {"reasoning_tokens": spent.reasoning},
        "total_tokens": spent.input + spent.output,
    })
}
