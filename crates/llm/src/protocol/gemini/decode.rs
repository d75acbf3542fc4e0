//! Decodes streamed and unstreamed answers. An unstreamed answer is one chunk or a list of chunks.
//!
//! A finish reason does not end the stream, because content may follow it if the provider's own
//! tools are used. The final events are therefore emitted at the end of the body.

use std::collections::BTreeMap;

use quillet_core::chat::{ChatEvent, FinishReason, ModelError, ModelErrorKind, Usage};
use quillet_core::{NativeTurn, Role};
use serde_json::{Map, Value};

use super::failure;
use super::partial::PartialArguments;
use super::parts::{self, string};
use crate::protocol::{Decoder, broken, made, parse};

/// Maximum number of answers to one request; no model returns more.
// The server controls the index, which is a map key, so it needs a bound.
const MOST_CANDIDATES: u64 = 128;

/// State of a partially decoded answer.
#[derive(Debug)]
pub(super) struct GeminiDecoder {
    model: String,
    started: bool,
    candidates: BTreeMap<u32, Candidate>,
    /// Reason why the provider blocked the prompt.
    blocked: Option<String>,
    usage: Option<Usage>,
    done: bool,
}

/// State of one answer.
#[derive(Debug, Default)]
struct Candidate {
    /// The parts as they are sent back to the provider.
    parts: Vec<Value>,
    calls: u32,
    open: Option<OpenCall>,
    /// Whether a call was truncated, so the turn has no native form.
    was_cut: bool,
    finish: Option<String>,
}

/// A call whose arguments arrive in chunks.
#[derive(Debug)]
struct OpenCall {
    part: Map<String, Value>,
    call: Map<String, Value>,
    arguments: PartialArguments,
}

impl GeminiDecoder {
    pub(super) fn new(model: &str) -> Self {
        GeminiDecoder {
            model: model.to_owned(),
            started: false,
            candidates: BTreeMap::new(),
            blocked: None,
            usage: None,
            done: false,
        }
    }

    /// Decodes one chunk or a list of chunks.
    fn chunks(&mut self, given: &Value, events: &mut Vec<ChatEvent>) -> Result<(), ModelError> {
        match given {
            Value::Array(chunks) => {
                let mut chunks = chunks.iter();
                chunks.try_for_each(|chunk| self.chunk(chunk, events))
            }
            chunk => self.chunk(chunk, events),
        }
    }

    fn chunk(&mut self, chunk: &Value, events: &mut Vec<ChatEvent>) -> Result<(), ModelError> {
        if let Some(error) = chunk.get("error") {
            return Err(failure::in_answer(error));
        }
        if !chunk.is_object() {
            return Err(broken("an event is not an object"));
        }
        self.start(chunk, events);
        if let Some(usage) = chunk.get("usageMetadata").filter(|usage| usage.is_object()) {
            // Each chunk contains the totals so far, so the usage is known even if the answer is
            // truncated.
            let usage = read_usage(usage);
            if self.usage != Some(usage) {
                self.usage = Some(usage);
                events.push(ChatEvent::Usage(usage));
            }
        }
        let reason = chunk
            .pointer("/promptFeedback/blockReason")
            .and_then(Value::as_str);
        // Stored until the end, because the reason arrives in a chunk without candidates.
        self.blocked = reason.map(str::to_owned).or(self.blocked.take());
        let candidates = chunk.get("candidates").and_then(Value::as_array);
        for candidate in candidates.into_iter().flatten() {
            self.candidate(candidate, events)?;
        }
        Ok(())
    }

    fn start(&mut self, chunk: &Value, events: &mut Vec<ChatEvent>) {
        if std::mem::replace(&mut self.started, true) {
            return;
        }
        let given = |key| chunk.get(key).and_then(Value::as_str);
        events.push(ChatEvent::Start {
            id: given("responseId").map_or_else(made::answer_id, str::to_owned),
            model: given("modelVersion").unwrap_or(&self.model).to_owned(),
            created: made::now(),
        });
    }

    fn candidate(&mut self, given: &Value, events: &mut Vec<ChatEvent>) -> Result<(), ModelError> {
        let index = given
            .get("index")
            .and_then(Value::as_u64)
            .unwrap_or_default();
        let index = u32::try_from(index)
            .ok()
            .filter(|_| index < MOST_CANDIDATES);
        let index = index.ok_or_else(|| broken("the index of a candidate is out of range"))?;
        let candidate = self.candidates.entry(index).or_default();
        let parts = given.pointer("/content/parts").and_then(Value::as_array);
        for part in parts.into_iter().flatten() {
            candidate.part(index, part, events)?;
        }
        let Some(finish) = given.get("finishReason").and_then(Value::as_str) else {
            return Ok(());
        };
        // The last one is used, since the provider's own tools continue after a finish reason.
        candidate.finish = Some(finish.to_owned());
        let Some(kind) = failed(finish) else {
            return Ok(());
        };
        let message = given.get("finishMessage").and_then(Value::as_str);
        Err(ModelError {
            provider_code: Some(finish.to_owned()),
            ..ModelError::new(kind, message.unwrap_or(finish))
        })
    }

    /// Emits the final events of the answer.
    fn finish(&mut self, events: &mut Vec<ChatEvent>) -> Result<(), ModelError> {
        // If there are candidates, the block reason applies to only some of them, and they have
        // their own finish reasons.
        let is_blocked = self.candidates.is_empty() && self.blocked.is_some();
        if let Some(reason) = self.blocked.take().filter(|_| is_blocked) {
            let candidate = self.candidates.entry(0).or_default();
            candidate.finish = Some(reason);
        }
        let has_end = |candidate: &Candidate| candidate.finish.is_some();
        if self.candidates.is_empty() || !self.candidates.values().all(has_end) {
            let cause = "the answer is incomplete: it ended without a finishReason";
            return Err(ModelError::new(ModelErrorKind::Cut, cause));
        }
        for (choice, candidate) in std::mem::take(&mut self.candidates) {
            candidate.finish(choice, is_blocked, events)?;
        }
        self.done = true;
        Ok(())
    }
}

impl Candidate {
    fn part(
        &mut self,
        choice: u32,
        part: &Value,
        events: &mut Vec<ChatEvent>,
    ) -> Result<(), ModelError> {
        let part = parts::tidy(part);
        if let Some(call) = part.get("functionCall").and_then(Value::as_object) {
            let call = call.clone();
            return self.call(choice, part, call, events);
        }
        let text = string(&part, "text").to_owned();
        if !text.is_empty() {
            events.push(if parts::is_thought(&part) {
                ChatEvent::Reasoning { choice, text }
            } else {
                ChatEvent::Text { choice, text }
            });
        }
        self.keep(part);
        Ok(())
    }

    /// Appends a part. Consecutive texts are joined, except for parts with a signature, which is
    /// valid for exactly one part.
    fn keep(&mut self, part: Value) {
        let text = plain_text(&part);
        if text == Some("") {
            return;
        }
        if let (Some(text), Some(last)) = (text, self.parts.last_mut())
            && plain_text(last).is_some()
            && parts::is_thought(last) == parts::is_thought(&part)
            && let Some(Value::String(joined)) = last.get_mut("text")
        {
            joined.push_str(text);
            return;
        }
        self.parts.push(part);
    }

    fn call(
        &mut self,
        choice: u32,
        mut part: Value,
        call: Map<String, Value>,
        events: &mut Vec<ChatEvent>,
    ) -> Result<(), ModelError> {
        let name = call.get("name").and_then(Value::as_str);
        let open = self.open.as_ref().and_then(|open| open.call.get("name"));
        match name.filter(|name| !name.is_empty()) {
            // The call is already closed, so the end marker is ignored.
            None if self.open.is_none() => return Ok(()),
            Some(name) if open.is_some_and(|open| open != name) => self.cut_open(choice, events),
            _ => {}
        }
        let pieces = call
            .get("partialArgs")
            .and_then(Value::as_array)
            .cloned()
            .unwrap_or_default();
        let goes_on = call.get("willContinue") == Some(&Value::Bool(true));
        // The first chunk of a call has the name and the signature; later ones only add arguments.
        let open = self.open.get_or_insert_with(|| OpenCall {
            arguments: PartialArguments::new(call.get("args")),
            part: part.as_object_mut().map(std::mem::take).unwrap_or_default(),
            call,
        });
        for piece in &pieces {
            let added = open.arguments.add(piece);
            added.map_err(|cause| broken(format!("invalid part of arguments: {cause}")))?;
        }
        if !goes_on {
            self.close(choice, events);
        }
        Ok(())
    }

    /// Closes the open call, whose arguments are complete.
    fn close(&mut self, choice: u32, events: &mut Vec<ChatEvent>) {
        let Some(mut open) = self.open.take() else {
            return;
        };
        let arguments = open.arguments.into_value();
        events.push(self.event(choice, &open.call, arguments.to_string()));
        // Only valid in streams; the provider rejects them in a request.
        for key in ["partialArgs", "willContinue"] {
            open.call.shift_remove(key);
        }
        open.call.insert("args".to_owned(), arguments);
        open.part
            .insert("functionCall".to_owned(), open.call.into());
        self.parts.push(open.part.into());
    }

    /// Closes the open call, whose arguments are incomplete.
    fn cut_open(&mut self, choice: u32, events: &mut Vec<ChatEvent>) {
        if let Some(open) = self.open.take() {
            self.was_cut = true;
            let arguments = open.arguments.into_cut_text();
            events.push(self.event(choice, &open.call, arguments));
        }
    }

    fn event(&mut self, choice: u32, call: &Map<String, Value>, arguments: String) -> ChatEvent {
        let given = |key: &str| {
            call.get(key)
                .and_then(Value::as_str)
                .filter(|text| !text.is_empty())
        };
        let index = self.calls;
        self.calls = self.calls.saturating_add(1);
        ChatEvent::ToolCall {
            choice,
            index,
            id: Some(given("id").map_or_else(made::call_id, str::to_owned)),
            name: given("name").map(str::to_owned),
            arguments,
        }
    }

    fn finish(
        mut self,
        choice: u32,
        is_blocked: bool,
        events: &mut Vec<ChatEvent>,
    ) -> Result<(), ModelError> {
        let raw = self.finish.take().unwrap_or_default();
        self.cut_open(choice, events);
        // A normal finish reason contradicts a truncated call, so the call must not be executed.
        if self.was_cut && raw == "STOP" {
            let cause = "the answer ended before the arguments of its call did";
            return Err(ModelError::new(ModelErrorKind::MalformedToolCall, cause));
        }
        let reason = if is_blocked {
            FinishReason::ContentFilter
        } else {
            reason(&raw, self.calls > 0)
        };
        if let Some(turn) = self.native() {
            events.push(ChatEvent::Native { choice, turn });
        }
        events.push(ChatEvent::Finish {
            choice,
            reason,
            raw,
        });
        Ok(())
    }

    /// Returns the native turn if it contains more than text and calls.
    fn native(self) -> Option<NativeTurn> {
        if self.was_cut {
            return None;
        }
        parts::read(Role::Assistant, self.parts, String::new).native
    }
}

impl Decoder for GeminiDecoder {
    fn event(
        &mut self,
        _name: Option<&str>,
        data: &[u8],
        events: &mut Vec<ChatEvent>,
    ) -> Result<(), ModelError> {
        let data = data.trim_ascii();
        // Some gateways for this API end the stream like OpenAI.
        if data.is_empty() || data == b"[DONE]" || data == b"null" {
            return Ok(());
        }
        self.chunks(&parse(data)?, events)
    }

    fn decode_body(&mut self, body: &[u8], events: &mut Vec<ChatEvent>) -> Result<(), ModelError> {
        self.chunks(&parse(body)?, events)?;
        self.finish(events)
    }

    fn end(&mut self, events: &mut Vec<ChatEvent>) -> Result<(), ModelError> {
        if self.done {
            Ok(())
        } else {
            self.finish(events)
        }
    }

    fn is_done(&self) -> bool {
        self.done
    }
}

/// Returns the error kind of a finish reason that means failure.
fn failed(reason: &str) -> Option<ModelErrorKind> {
    match reason {
        "MALFORMED_FUNCTION_CALL" | "UNEXPECTED_TOOL_CALL" | "TOO_MANY_TOOL_CALLS" => {
            Some(ModelErrorKind::MalformedToolCall)
        }
        "MISSING_THOUGHT_SIGNATURE" => Some(ModelErrorKind::Refused),
        _ => None,
    }
}

fn reason(raw: &str, has_calls: bool) -> FinishReason {
    match raw {
        "MAX_TOKENS" => FinishReason::Length,
        "SAFETY"
        | "RECITATION"
        | "BLOCKLIST"
        | "PROHIBITED_CONTENT"
        | "SPII"
        | "LANGUAGE"
        | "MODEL_ARMOR"
        | "IMAGE_SAFETY"
        | "IMAGE_PROHIBITED_CONTENT"
        | "IMAGE_RECITATION" => FinishReason::ContentFilter,
        "OTHER" | "MALFORMED_RESPONSE" | "IMAGE_OTHER" | "NO_IMAGE" => FinishReason::Error,
        "CONTINUATION" => FinishReason::Pause,
        // Gemini has no finish reason for calls.
        _ if has_calls => FinishReason::ToolCalls,
        _ => FinishReason::Stop,
    }
}

fn read_usage(usage: &Value) -> Usage {
    let count = |key| usage.get(key).and_then(Value::as_u64).unwrap_or_default();
    // Gemini counts results of its own tools separately from the prompt, and thoughts separately
    // from the candidates.
    let thoughts = count("thoughtsTokenCount");
    Usage {
        input_tokens: count("promptTokenCount").saturating_add(count("toolUsePromptTokenCount")),
        output_tokens: count("candidatesTokenCount").saturating_add(thoughts),
        reasoning_tokens: thoughts,
        cache_read_tokens: count("cachedContentTokenCount"),
        cache_write_tokens: 0,
    }
}

/// Returns the text of a part without any other member.
fn plain_text(part: &Value) -> Option<&str> {
    let members = part.as_object()?;
    let is_plain = members.keys().all(|key| key == "text" || key == "thought");
    members.get("text")?.as_str().filter(|_| is_plain)
}
