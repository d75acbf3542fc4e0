//! Decodes answers of the Messages API. An unstreamed answer is treated as a stream with one chunk
//! per block.

use std::collections::BTreeMap;

use quillet_core::chat::{ChatEvent, FinishReason, ModelError, ModelErrorKind, Usage};
use quillet_core::{NativeTurn, Role};
use serde_json::{Map, Value, json};

use super::{blocks, failure};
use crate::protocol::{Decoder, broken, made, parse};

/// State of a partially decoded answer.
#[derive(Debug)]
pub(super) struct AnthropicDecoder {
    model: String,
    started: bool,
    blocks: BTreeMap<u64, ContentBlock>,
    calls: u32,
    tokens: TokenTotals,
    told: Option<Usage>,
    stop_reason: String,
    done: bool,
}

#[derive(Debug)]
struct ContentBlock {
    /// The block as it is sent back to the provider.
    value: Map<String, Value>,
    /// Number of the call, if the block is a call of a client tool.
    call: Option<u32>,
    /// JSON text of the call's arguments received so far.
    input: String,
    open: bool,
}

/// Total token counts; each later event replaces the counts it contains.
#[derive(Debug, Default)]
struct TokenTotals {
    input: u64,
    output: u64,
    cache_read: u64,
    cache_write: u64,
    thinking: u64,
}

impl TokenTotals {
    fn update(&mut self, usage: &Value) {
        let fields = [
            (&mut self.input, "/input_tokens"),
            (&mut self.output, "/output_tokens"),
            (&mut self.cache_read, "/cache_read_input_tokens"),
            (&mut self.cache_write, "/cache_creation_input_tokens"),
            (&mut self.thinking, "/output_tokens_details/thinking_tokens"),
        ];
        for (field, pointer) in fields {
            if let Some(count) = usage.pointer(pointer).and_then(Value::as_u64) {
                *field = count;
            }
        }
    }

    fn usage(&self) -> Usage {
        // The API excludes cached tokens from `input_tokens`.
        let cached = self.cache_read.saturating_add(self.cache_write);
        Usage {
            input_tokens: self.input.saturating_add(cached),
            output_tokens: self.output,
            reasoning_tokens: self.thinking,
            cache_read_tokens: self.cache_read,
            cache_write_tokens: self.cache_write,
        }
    }
}

impl AnthropicDecoder {
    pub(super) fn new(model: &str) -> Self {
        AnthropicDecoder {
            model: model.to_owned(),
            started: false,
            blocks: BTreeMap::new(),
            calls: 0,
            tokens: TokenTotals::default(),
            told: None,
            stop_reason: String::new(),
            done: false,
        }
    }

    fn start(&mut self, message: &Value, events: &mut Vec<ChatEvent>) {
        // Gateways that reconnect may repeat `message_start`.
        if std::mem::replace(&mut self.started, true) {
            return;
        }
        let id = text(message, "id").map_or_else(made::answer_id, str::to_owned);
        let model = text(message, "model").unwrap_or(&self.model).to_owned();
        events.push(ChatEvent::Start {
            id,
            model,
            created: made::now(),
        });
        self.tokens.update(field(message, "usage"));
        // The input usage is now known, even if the answer is truncated later.
        if self.tokens.usage() != Usage::default() {
            self.tell_usage(events);
        }
    }

    fn tell_usage(&mut self, events: &mut Vec<ChatEvent>) {
        let usage = self.tokens.usage();
        if self.told != Some(usage) {
            self.told = Some(usage);
            events.push(ChatEvent::Usage(usage));
        }
    }

    fn begin_block(&mut self, index: u64, block: &Value, events: &mut Vec<ChatEvent>) {
        let Value::Object(value) = block else { return };
        let mut block = ContentBlock {
            value: value.clone(),
            call: None,
            input: String::new(),
            open: true,
        };
        let said = |key| value.get(key).and_then(Value::as_str).unwrap_or_default();
        match said("type") {
            "text" => events.extend(text_event(said("text"))),
            "thinking" => events.extend(reasoning_event(said("thinking"))),
            "tool_use" => {
                let id = match said("id") {
                    "" => made::call_id(),
                    id => id.to_owned(),
                };
                // The generated id also goes into the stored turn, so results can refer to it
                // later.
                block.value.insert("id".to_owned(), id.as_str().into());
                block.call = Some(self.calls);
                let name = said("name").to_owned();
                events.push(call_event(self.calls, Some((id, name)), ""));
                self.calls = self.calls.saturating_add(1);
            }
            _ => {}
        }
        self.blocks.insert(index, block);
    }

    /// Unknown deltas and those of unknown blocks are skipped.
    fn delta(&mut self, index: u64, delta: &Value, events: &mut Vec<ChatEvent>) {
        let Some(block) = self.blocks.get_mut(&index) else {
            return;
        };
        let event = match text(delta, "type").unwrap_or_default() {
            "text_delta" => text_event(block.append("text", delta)),
            "thinking_delta" => reasoning_event(block.append("thinking", delta)),
            "input_json_delta" => {
                let piece = text(delta, "partial_json").unwrap_or_default();
                block.input.push_str(piece);
                let call = block.call.filter(|_| !piece.is_empty());
                call.map(|call| call_event(call, None, piece))
            }
            "signature_delta" => block.replace("signature", delta),
            "compaction_delta" => block.replace("content", delta),
            "citations_delta" => block.cite(delta),
            _ => None,
        };
        events.extend(event);
    }

    fn end_block(&mut self, index: u64, events: &mut Vec<ChatEvent>) {
        let Some(block) = self.blocks.get_mut(&index) else {
            return;
        };
        // Arguments received as deltas have already been emitted.
        if !std::mem::take(&mut block.open) || !block.input.is_empty() {
            return;
        }
        // Some gateways send the arguments with the block; an empty object means no arguments.
        let input = block.value.get("input").filter(|input| input.is_object());
        let input = input.map_or_else(|| "{}".to_owned(), Value::to_string);
        let event = block.call.map(|call| call_event(call, None, &input));
        events.extend(event);
    }

    fn message_delta(&mut self, event: &Value, events: &mut Vec<ChatEvent>) {
        if let Some(reason) = text(field(event, "delta"), "stop_reason") {
            reason.clone_into(&mut self.stop_reason);
        }
        self.tokens.update(field(event, "usage"));
        self.tell_usage(events);
    }

    fn stop(&mut self, events: &mut Vec<ChatEvent>) {
        // Some gateways omit `content_block_stop`. The keys are collected first, because ending a
        // block borrows the decoder.
        let open: Vec<u64> = self.blocks.keys().copied().collect();
        for index in open {
            self.end_block(index, events);
        }
        if let Some(turn) = self.native() {
            events.push(ChatEvent::Native { choice: 0, turn });
        }
        events.push(ChatEvent::Finish {
            choice: 0,
            reason: reason(&self.stop_reason, self.calls > 0),
            raw: std::mem::take(&mut self.stop_reason),
        });
        self.done = true;
    }

    /// Returns the native turn if it contains more than text and calls. `None` if a call is
    /// truncated, because the API cannot represent it.
    fn native(&mut self) -> Option<NativeTurn> {
        let blocks = std::mem::take(&mut self.blocks).into_values();
        let content: Option<Vec<Value>> = blocks.map(ContentBlock::into_value).collect();
        let turn = blocks::read(Role::Assistant, content?);
        turn.into_iter().next()?.native
    }

    fn take(
        &mut self,
        kind: &str,
        event: &Value,
        events: &mut Vec<ChatEvent>,
    ) -> Result<(), ModelError> {
        let index = event
            .get("index")
            .and_then(Value::as_u64)
            .unwrap_or_default();
        match kind {
            // An intermediary has inserted another answer into this one.
            "message_start" if !self.blocks.is_empty() => {
                let cause = "the answer is incomplete: a second answer began inside it";
                return Err(ModelError::new(ModelErrorKind::Cut, cause));
            }
            "message_start" => self.start(field(event, "message"), events),
            "error" => return Err(failure::in_answer(event)),
            // Events before the start of an answer cannot be assigned to it.
            _ if !self.started => {}
            "content_block_start" => self.begin_block(index, field(event, "content_block"), events),
            "content_block_delta" => self.delta(index, field(event, "delta"), events),
            "content_block_stop" => self.end_block(index, events),
            "message_delta" => self.message_delta(event, events),
            "message_stop" => self.stop(events),
            _ => {}
        }
        Ok(())
    }
}

impl Decoder for AnthropicDecoder {
    fn event(
        &mut self,
        name: Option<&str>,
        data: &[u8],
        events: &mut Vec<ChatEvent>,
    ) -> Result<(), ModelError> {
        // Some gateways for this API end the stream like OpenAI.
        if self.done || matches!(data.trim_ascii(), b"[DONE]" | b"null") {
            return Ok(());
        }
        let event: Value = parse(data)?;
        // The type in the data takes precedence, because some proxies drop or change the event
        // name.
        let kind = text(&event, "type").or(name).unwrap_or_default();
        self.take(kind, &event, events)
    }

    fn decode_body(&mut self, body: &[u8], events: &mut Vec<ChatEvent>) -> Result<(), ModelError> {
        let message: Value = parse(body)?;
        if message.get("error").is_some() {
            return Err(failure::in_answer(&message));
        }
        let Some(content) = message.get("content").and_then(Value::as_array) else {
            return Err(broken(
                "the body is not a message: it has no list \"content\"",
            ));
        };
        self.start(&message, events);
        for (index, block) in (0..).zip(content) {
            self.begin_block(index, block, events);
            self.end_block(index, events);
        }
        self.message_delta(
            &json!({"delta": {"stop_reason": message.get("stop_reason")}}),
            events,
        );
        self.stop(events);
        Ok(())
    }

    fn end(&mut self, _events: &mut Vec<ChatEvent>) -> Result<(), ModelError> {
        if self.done {
            return Ok(());
        }
        let cause = "the answer is incomplete: it ended without message_stop";
        Err(ModelError::new(ModelErrorKind::Cut, cause))
    }

    fn is_done(&self) -> bool {
        self.done
    }
}

impl ContentBlock {
    /// Appends the text of a delta to the block, and returns the text.
    fn append<'a>(&mut self, key: &str, delta: &'a Value) -> &'a str {
        let piece = text(delta, key).unwrap_or_default();
        match self.value.get_mut(key) {
            Some(Value::String(text)) => text.push_str(piece),
            _ => {
                self.value.insert(key.to_owned(), piece.into());
            }
        }
        piece
    }

    fn replace(&mut self, key: &str, delta: &Value) -> Option<ChatEvent> {
        let value = field(delta, key).clone();
        self.value.insert(key.to_owned(), value);
        None
    }

    fn cite(&mut self, delta: &Value) -> Option<ChatEvent> {
        let citation = field(delta, "citation").clone();
        match self.value.get_mut("citations") {
            Some(Value::Array(citations)) => citations.push(citation),
            _ => {
                self.value.insert("citations".to_owned(), json!([citation]));
            }
        }
        None
    }

    /// Returns `None` if the arguments are not a complete JSON object.
    fn into_value(mut self) -> Option<Value> {
        if !self.input.is_empty() {
            let input: Map<String, Value> = serde_json::from_str(&self.input).ok()?;
            self.value.insert("input".to_owned(), input.into());
        }
        Some(Value::Object(self.value))
    }
}

fn reason(raw: &str, has_calls: bool) -> FinishReason {
    match raw {
        "tool_use" => FinishReason::ToolCalls,
        "max_tokens" | "model_context_window_exceeded" => FinishReason::Length,
        "refusal" => FinishReason::Refusal,
        "pause_turn" | "compaction" => FinishReason::Pause,
        "" if has_calls => FinishReason::ToolCalls,
        _ => FinishReason::Stop,
    }
}

fn text_event(text: &str) -> Option<ChatEvent> {
    let text = text.to_owned();
    (!text.is_empty()).then_some(ChatEvent::Text { choice: 0, text })
}

fn reasoning_event(text: &str) -> Option<ChatEvent> {
    let text = text.to_owned();
    (!text.is_empty()).then_some(ChatEvent::Reasoning { choice: 0, text })
}

fn call_event(index: u32, begun: Option<(String, String)>, arguments: &str) -> ChatEvent {
    let (id, name) = begun.unzip();
    ChatEvent::ToolCall {
        choice: 0,
        index,
        id,
        name,
        arguments: arguments.to_owned(),
    }
}

fn field<'a>(value: &'a Value, key: &str) -> &'a Value {
    value.get(key).unwrap_or(&Value::Null)
}

fn text<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key)?.as_str()
}
