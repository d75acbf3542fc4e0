//! Encodes a reply as the events of OpenAI's Responses API. Every item starts, has deltas and ends
//! with its complete form. The last event contains the complete response.

use quillet_core::chat::{ChatEvent, FinishReason, Usage};
use quillet_core::{BoxFuture, NativeTurn};
use serde::Serialize;
use serde_json::{Value, json};

use super::super::error;
use super::items::{self, OutputItem, OutputItemKind};
use super::native;
use super::object::ResponseObject;
use super::recorder::ResponseRecorder;
use crate::api::chunk::json as write_json;
use crate::api::event_stream::EventEncoder;
use crate::error::ApiError;
use crate::warning::Warning;

/// Encodes a reply.
#[derive(Debug)]
pub(super) struct ResponsesEncoder {
    object: ResponseObject,
    items: Vec<OutputItem>,
    has_begun: bool,
    /// The number of the next event.
    sequence: u64,
    /// Whether the response also contains the turn in its provider's format.
    with_native: bool,
    native: Option<NativeTurn>,
    reason: FinishReason,
    usage: Option<Usage>,
    keeper: ResponseRecorder,
}

#[derive(Serialize)]
struct DeltaEvent<'a> {
    r#type: &'a str,
    sequence_number: u64,
    item_id: &'a str,
    output_index: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    content_index: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary_index: Option<usize>,
    delta: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    logprobs: Option<[(); 0]>,
}

impl ResponsesEncoder {
    pub(super) fn new(object: ResponseObject, with_native: bool, keeper: ResponseRecorder) -> Self {
        ResponsesEncoder {
            object,
            items: Vec::new(),
            has_begun: false,
            sequence: 0,
            with_native,
            native: None,
            reason: FinishReason::Stop,
            usage: None,
            keeper,
        }
    }

    pub(super) fn into_object(self) -> Value {
        self.object.into_json()
    }

    fn frame(&mut self, kind: &str, payload: &impl Serialize, out: &mut Vec<u8>) {
        out.extend_from_slice(b"event: ");
        out.extend_from_slice(kind.as_bytes());
        out.extend_from_slice(b"\ndata: ");
        write_json(payload, out);
        out.extend_from_slice(b"\n\n");
        self.sequence += 1;
    }

    /// Writes an event with these additional members.
    fn write_event(&mut self, kind: &str, mut members: Value, out: &mut Vec<u8>) {
        members["type"] = kind.into();
        members["sequence_number"] = self.sequence.into();
        self.frame(kind, &members, out);
    }

    fn write_response(&mut self, kind: &str, out: &mut Vec<u8>) {
        let response = json!({"response": self.object.members()});
        self.write_event(kind, response, out);
    }

    fn begun(&mut self, out: &mut Vec<u8>) {
        if !self.has_begun {
            self.has_begun = true;
            self.write_response("response.created", out);
            self.write_response("response.in_progress", out);
        }
    }

    /// Writes a text delta of this kind.
    fn piece(&mut self, kind: OutputItemKind, text: &str, out: &mut Vec<u8>) {
        self.begun(out);
        if text.is_empty() {
            return;
        }
        let same = |item: &OutputItem| item.is_open && item.kind == kind;
        let index = match self.items.iter().rposition(same) {
            Some(index) => index,
            None => {
                // OpenAI's clients expect one open text item at a time. Several tool calls can be
                // open at the same time.
                self.close_texts(out);
                self.open(kind, out)
            }
        };
        self.delta(index, text, out);
    }

    /// Writes a delta of a call. Deltas of calls can be interleaved, so all calls stay open until
    /// the end.
    fn call_piece(
        &mut self,
        call: u32,
        start: Option<(String, String)>,
        text: &str,
        out: &mut Vec<u8>,
    ) {
        self.begun(out);
        let same = |item: &OutputItem| matches!(item.kind, OutputItemKind::Call(number, ..) if number == call);
        let index = match self.items.iter().position(same) {
            Some(index) => index,
            None => {
                self.close_texts(out);
                let (id, name) = start.unwrap_or_default();
                self.open(OutputItemKind::Call(call, id, name), out)
            }
        };
        if !text.is_empty() {
            self.delta(index, text, out);
        }
    }

    fn open(&mut self, kind: OutputItemKind, out: &mut Vec<u8>) -> usize {
        let index = self.items.len();
        let item = OutputItem::new(&self.object.id, index, kind);
        let added = json!({"output_index": index, "item": item.json("in_progress")});
        self.write_event("response.output_item.added", added, out);
        if let Some((added, _)) = part_events(&item.kind) {
            let event = part_event(index, &item, "");
            self.write_event(added, event, out);
        }
        self.items.push(item);
        index
    }

    fn delta(&mut self, index: usize, text: &str, out: &mut Vec<u8>) {
        let sequence_number = self.sequence;
        let Some(item) = self.items.get_mut(index) else {
            return;
        };
        item.text.push_str(text);
        let (delta, _) = text_events(&item.kind);
        let is_text = item.kind == OutputItemKind::Text;
        let is_message = is_text || item.kind == OutputItemKind::Refusal;
        let is_reasoning = matches!(item.kind, OutputItemKind::Reasoning(_));
        let id = item.id.clone();
        let payload = DeltaEvent {
            r#type: delta,
            sequence_number,
            item_id: &id,
            output_index: index,
            content_index: is_message.then_some(0),
            summary_index: is_reasoning.then_some(0),
            delta: text,
            logprobs: is_text.then_some([]),
        };
        self.frame(delta, &payload, out);
    }

    /// Closes open text, reasoning and refusal items before another item begins. A reasoning item
    /// that will contain the native turn stays open.
    fn close_texts(&mut self, out: &mut Vec<u8>) {
        for index in 0..self.items.len() {
            let waits = |kind: &OutputItemKind| match kind {
                OutputItemKind::Reasoning(_) => self.with_native,
                OutputItemKind::Call(..) => true,
                OutputItemKind::Text | OutputItemKind::Refusal => false,
            };
            if self.items.get(index).is_some_and(|item| !waits(&item.kind)) {
                self.close(index, "completed", out);
            }
        }
    }

    fn close(&mut self, index: usize, status: &str, out: &mut Vec<u8>) {
        let Some(item) = self.items.get_mut(index).filter(|item| item.is_open) else {
            return;
        };
        item.is_open = false;
        let text = item.text.clone();
        let whole = json!({"output_index": index, "item": item.json(status)});
        let mut done = json!({"item_id": item.id, "output_index": index});
        let part = part_event(index, item, &text);
        let (_, kind) = text_events(&item.kind);
        let after = part_events(&item.kind).map(|(_, done)| done);
        match &item.kind {
            OutputItemKind::Text => {
                done["content_index"] = 0.into();
                done["text"] = text.into();
                done["logprobs"] = json!([]);
            }
            OutputItemKind::Refusal => {
                done["content_index"] = 0.into();
                done["refusal"] = text.into();
            }
            OutputItemKind::Reasoning(_) => {
                done["summary_index"] = 0.into();
                done["text"] = text.into();
            }
            OutputItemKind::Call(_, _, name) => {
                done["name"] = name.as_str().into();
                done["arguments"] = text.into();
            }
        }
        self.write_event(kind, done, out);
        if let Some(after) = after {
            self.write_event(after, part, out);
        }
        self.write_event("response.output_item.done", whole, out);
    }

    /// Closes every item. The reasoning item gets the native turn.
    fn close_all(&mut self, status: &str, out: &mut Vec<u8>) {
        if let Some(turn) = self.native.as_ref().filter(|_| self.with_native) {
            let encrypted = Some(native::encode(turn));
            let is_reasoning =
                |item: &&mut OutputItem| matches!(item.kind, OutputItemKind::Reasoning(_));
            match self.items.iter_mut().rev().find(is_reasoning) {
                Some(item) => item.kind = OutputItemKind::Reasoning(encrypted),
                None => self.add_unspoken(encrypted, out),
            }
        }
        for index in 0..self.items.len() {
            self.close(index, status, out);
        }
    }

    /// Adds a reasoning item without text.
    fn add_unspoken(&mut self, encrypted: Option<String>, out: &mut Vec<u8>) {
        let index = self.items.len();
        let mut item =
            OutputItem::new(&self.object.id, index, OutputItemKind::Reasoning(encrypted));
        item.is_open = false;
        for kind in ["response.output_item.added", "response.output_item.done"] {
            let event = json!({"output_index": index, "item": item.json("completed")});
            self.write_event(kind, event, out);
        }
        self.items.push(item);
    }

    fn output(&self, status: &str) -> Vec<Value> {
        self.items.iter().map(|item| item.json(status)).collect()
    }
}

/// Returns the names of the delta event and the final event for an item's text.
fn text_events(kind: &OutputItemKind) -> (&'static str, &'static str) {
    match kind {
        OutputItemKind::Text => ("response.output_text.delta", "response.output_text.done"),
        OutputItemKind::Refusal => ("response.refusal.delta", "response.refusal.done"),
        OutputItemKind::Reasoning(_) => (
            "response.reasoning_summary_text.delta",
            "response.reasoning_summary_text.done",
        ),
        OutputItemKind::Call(..) => (
            "response.function_call_arguments.delta",
            "response.function_call_arguments.done",
        ),
    }
}

/// Returns the names of the first and last event for an item's part, if it has parts.
fn part_events(kind: &OutputItemKind) -> Option<(&'static str, &'static str)> {
    match kind {
        OutputItemKind::Text | OutputItemKind::Refusal => {
            Some(("response.content_part.added", "response.content_part.done"))
        }
        OutputItemKind::Reasoning(_) => Some((
            "response.reasoning_summary_part.added",
            "response.reasoning_summary_part.done",
        )),
        OutputItemKind::Call(..) => None,
    }
}

fn part_event(index: usize, item: &OutputItem, text: &str) -> Value {
    let mut event = json!({"item_id": item.id, "output_index": index, "part": item.part(text)});
    let name = match item.kind {
        OutputItemKind::Reasoning(_) => "summary_index",
        OutputItemKind::Text | OutputItemKind::Refusal | OutputItemKind::Call(..) => {
            "content_index"
        }
    };
    event[name] = 0.into();
    event
}

impl EventEncoder for ResponsesEncoder {
    // The events of the Responses API have no members for warnings.
    fn begin(&mut self, _: Vec<Warning>, _: &mut Vec<u8>) {}

    fn event(&mut self, event: ChatEvent, out: &mut Vec<u8>) {
        match event {
            ChatEvent::Start { model, .. } => {
                self.object.answered_by(&model);
                self.begun(out);
            }
            ChatEvent::Text { choice: 0, text } => self.piece(OutputItemKind::Text, &text, out),
            ChatEvent::Reasoning { choice: 0, text } => {
                self.piece(OutputItemKind::Reasoning(None), &text, out);
            }
            ChatEvent::Refusal { choice: 0, text } => {
                self.piece(OutputItemKind::Refusal, &text, out)
            }
            ChatEvent::ToolCall {
                choice: 0,
                index,
                id,
                name,
                arguments,
            } => {
                let start = Some((id.unwrap_or_default(), name.unwrap_or_default()));
                self.call_piece(index, start, &arguments, out);
            }
            ChatEvent::Native { choice: 0, turn } => self.native = Some(turn),
            ChatEvent::Finish {
                choice: 0, reason, ..
            } => {
                self.begun(out);
                self.reason = reason;
                let status = match reason {
                    FinishReason::Length => "incomplete",
                    _ => "completed",
                };
                self.close_all(status, out);
            }
            ChatEvent::Usage(usage) => self.usage = Some(usage),
            // The Responses API has a single choice.
            ChatEvent::Text { .. }
            | ChatEvent::Reasoning { .. }
            | ChatEvent::Refusal { .. }
            | ChatEvent::ToolCall { .. }
            | ChatEvent::Native { .. }
            | ChatEvent::Finish { .. } => {}
        }
    }

    fn end(&mut self, out: &mut Vec<u8>) -> Option<BoxFuture<'static, ()>> {
        let status = match self.reason {
            FinishReason::Length => "incomplete",
            _ => "completed",
        };
        self.object
            .end(self.reason, self.output(status), self.usage);
        let kind = format!("response.{}", self.object.status());
        self.write_response(&kind, out);
        let mut answer = items::message(&self.items);
        answer.native = self.native.take();
        self.keeper
            .store_response(&self.object.id, answer, self.object.members())
    }

    fn fail(&mut self, error: &ApiError, out: &mut Vec<u8>) {
        if !self.has_begun {
            let body = error::body(error).error;
            let event = json!({"code": body.code, "message": body.message, "param": body.param});
            return self.write_event("error", event, out);
        }
        let output = self.output("incomplete");
        self.object.fail(error, output, self.usage);
        self.write_response("response.failed", out);
    }
}
