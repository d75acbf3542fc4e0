//! Decodes the chunks of an answer into events. An unstreamed answer is treated as a stream of one
//! chunk.
//!
//! Unknown fields are skipped without storing them, so the memory of a large answer is limited to
//! its text.

use std::collections::BTreeMap;

use quillet_core::chat::{
    ChatEvent, FinishReason, ModelError, ModelErrorKind, PassthroughState, Usage,
};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::calls::{CallDelta, FunctionDelta, MOST_CALLS, ToolCallAssembler};
use super::plain;
use super::state::ReasoningState;
use super::text::{TextOrParts, non_empty, text};
use super::usage::usage;
use crate::protocol::{Decoder, PassthroughCheck, broken, made, openai_error, parse};

/// Maximum number of answers to one request; no provider returns more.
// The index comes from the server and is used as a map key; the bound limits what a broken server
// can allocate.
const MOST_CHOICES: u32 = 128;

/// A chunk of an answer, or a complete answer.
#[derive(Deserialize)]
struct ChatChunk<'a> {
    #[serde(default)]
    id: Option<TextOrParts>,
    #[serde(default)]
    model: Option<TextOrParts>,
    #[serde(default, borrow)]
    created: Option<&'a RawValue>,
    #[serde(default, borrow)]
    choices: Option<Vec<ChunkChoice<'a>>>,
    #[serde(default, borrow)]
    usage: Option<&'a RawValue>,
    /// Usage in streams of Groq.
    #[serde(default, borrow)]
    x_groq: Option<Groq<'a>>,
    /// Error instead of an answer, possibly in the middle of a stream.
    #[serde(default)]
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Groq<'a> {
    #[serde(default, borrow)]
    usage: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct ChunkChoice<'a> {
    #[serde(default)]
    index: Option<u32>,
    /// Content in streams; some providers also send the accumulated `message`.
    #[serde(default, borrow)]
    delta: Option<ChunkDelta<'a>>,
    /// Content of complete answers; some providers also send an empty `delta`.
    #[serde(default, borrow)]
    message: Option<ChunkDelta<'a>>,
    #[serde(default)]
    finish_reason: Option<TextOrParts>,
    /// Error of the provider behind OpenRouter.
    #[serde(default)]
    error: Option<Value>,
}

#[derive(Default, Deserialize)]
struct ChunkDelta<'a> {
    #[serde(default)]
    content: Option<TextOrParts>,
    #[serde(default)]
    refusal: Option<TextOrParts>,
    #[serde(default)]
    reasoning_content: Option<TextOrParts>,
    #[serde(default)]
    reasoning: Option<TextOrParts>,
    /// OpenRouter's reasoning data, which it expects back unchanged.
    #[serde(default)]
    reasoning_details: Option<Vec<Value>>,
    #[serde(default, borrow)]
    tool_calls: Option<Vec<CallDelta<'a>>>,
    /// Legacy form from before `tool_calls`.
    #[serde(default, borrow)]
    function_call: Option<FunctionDelta<'a>>,
}

/// Decoder of one answer.
#[derive(Debug)]
pub(super) struct ChatDecoder {
    model: String,
    /// Whether the request asked for the usage of a streamed answer, which follows the finish
    /// reason.
    asks_usage: bool,
    is_whole: bool,
    started: bool,
    done: bool,
    last_usage: Option<Usage>,
    choices: BTreeMap<u32, ChoiceState>,
    /// State of the passed-through part.
    told: PassthroughState,
}

#[derive(Debug, Default)]
struct ChoiceState {
    calls: ToolCallAssembler,
    state: ReasoningState,
    /// Whether the model refused the request.
    refused: bool,
    finished: bool,
}

impl ChatDecoder {
    /// Creates a decoder for an answer of this model.
    pub(super) fn new(model: String, asks_usage: bool) -> Self {
        ChatDecoder {
            model,
            asks_usage,
            is_whole: false,
            started: false,
            done: false,
            last_usage: None,
            choices: BTreeMap::new(),
            told: PassthroughState::default(),
        }
    }

    /// Whether every answer has a finish reason.
    fn is_complete(&self) -> bool {
        !self.choices.is_empty() && self.choices.values().all(|choice| choice.finished)
    }

    /// Decodes a chunk. Some gateways send several as a list, or `null` to keep a connection open.
    fn read(&mut self, data: &[u8], events: &mut Vec<ChatEvent>) -> Result<(), ModelError> {
        let data = data.trim_ascii();
        // Some gateways send `null` to keep the connection open, and the parser would reject it.
        if data == b"null" {
            return Ok(());
        }
        if data.first() == Some(&b'[')
            && let Ok(pieces) = serde_json::from_slice::<Vec<&RawValue>>(data)
        {
            let mut pieces = pieces.into_iter();
            return pieces.try_for_each(|piece| self.read_one(piece.get().as_bytes(), events));
        }
        self.read_one(data, events)
    }

    fn read_one(&mut self, data: &[u8], events: &mut Vec<ChatEvent>) -> Result<(), ModelError> {
        let piece: ChatChunk<'_> = parse(data)?;
        if let Some(error) = piece.error.filter(|error| !error.is_null()) {
            return Err(openai_error::inside(&openai_error::error_fields(&error)));
        }
        let (id, model) = (text(piece.id), text(piece.model));
        let choices = piece.choices.unwrap_or_default();
        // Some providers start with metadata that has neither an id nor an answer.
        if !self.started && (!id.is_empty() || !choices.is_empty()) {
            self.started = true;
            events.push(self.start(id, model, number(piece.created)));
        }
        for (position, choice) in choices.into_iter().enumerate() {
            self.read_choice(position, choice, events)?;
        }
        let counts = piece.usage.and_then(usage);
        let counts = counts.or_else(|| piece.x_groq?.usage.and_then(usage));
        // Some servers repeat the same usage in every chunk.
        if self.started && counts.is_some() && counts != self.last_usage {
            self.last_usage = counts;
            events.extend(counts.map(ChatEvent::Usage));
        }
        Ok(())
    }

    fn start(&self, id: String, model: String, created: u64) -> ChatEvent {
        let or = |text: String, other: &dyn Fn() -> String| {
            if text.is_empty() { other() } else { text }
        };
        ChatEvent::Start {
            id: or(id, &|| {
                format!("chatcmpl-{}", uuid::Uuid::new_v4().simple())
            }),
            model: or(model, &|| self.model.clone()),
            created: if created == 0 { made::now() } else { created },
        }
    }

    fn read_choice(
        &mut self,
        position: usize,
        choice: ChunkChoice<'_>,
        events: &mut Vec<ChatEvent>,
    ) -> Result<(), ModelError> {
        let index = choice
            .index
            .unwrap_or(u32::try_from(position).unwrap_or(u32::MAX));
        if index >= MOST_CHOICES {
            return Err(broken(format!("choice index {index} is out of range")));
        }
        if let Some(error) = choice.error.filter(|error| !error.is_null()) {
            return Err(openai_error::inside(&openai_error::error_fields(&error)));
        }
        let progress = self.choices.entry(index).or_default();
        // A server that sends both `delta` and `message` fills only the one for the current mode.
        let delta = if self.is_whole {
            choice.message.or(choice.delta)
        } else {
            choice.delta.or(choice.message)
        };
        read_delta(index, delta.unwrap_or_default(), progress, events)?;
        let raw = text(choice.finish_reason);
        // Some servers repeat the finish reason; clients expect it once.
        if raw.is_empty() || progress.finished {
            return Ok(());
        }
        progress.finish(index, raw, &self.model, events);
        Ok(())
    }

    /// Ends the answers without a finish reason, because callers expect one for each answer.
    fn finish_rest(&mut self, events: &mut Vec<ChatEvent>) -> Result<(), ModelError> {
        if self.choices.is_empty() {
            return Err(cut("the answer is incomplete: it ended without a choice"));
        }
        let open = self
            .choices
            .iter_mut()
            .filter(|(_, choice)| !choice.finished);
        for (index, progress) in open {
            progress.finish(*index, String::new(), &self.model, events);
        }
        self.done = true;
        Ok(())
    }
}

impl ChoiceState {
    fn finish(&mut self, index: u32, raw: String, model: &str, events: &mut Vec<ChatEvent>) {
        self.finished = true;
        let state = std::mem::take(&mut self.state);
        let turn = state.into_turn(model, &mut self.calls);
        events.extend(turn.map(|turn| ChatEvent::Native {
            choice: index,
            turn,
        }));
        events.push(ChatEvent::Finish {
            choice: index,
            reason: match meaning(&raw, self.calls.is_empty()) {
                // OpenAI reports a refusal with the finish reason `stop`.
                FinishReason::Stop if self.refused => FinishReason::Refusal,
                reason => reason,
            },
            raw,
        });
    }
}

impl Decoder for ChatDecoder {
    fn event(
        &mut self,
        name: Option<&str>,
        data: &[u8],
        events: &mut Vec<ChatEvent>,
    ) -> Result<(), ModelError> {
        if data.trim_ascii() == b"[DONE]" {
            if !self.started {
                return Err(nothing());
            }
            return self.finish_rest(events);
        }
        if name == Some("error") {
            let error = serde_json::from_slice(data).unwrap_or(Value::Null);
            // Servers disagree whether the error is the data itself or a member of it.
            let found = openai_error::said_in(&error);
            let found = found.unwrap_or_else(|| openai_error::error_fields(&error));
            return Err(openai_error::inside(&found));
        }
        self.read(data, events)
    }

    fn decode_body(&mut self, body: &[u8], events: &mut Vec<ChatEvent>) -> Result<(), ModelError> {
        self.is_whole = true;
        self.read(body, events)?;
        if !self.started {
            return Err(nothing());
        }
        self.finish_rest(events)
    }

    /// Some servers omit `[DONE]`. The usage follows the finish reason, so an answer with both is
    /// complete. With only the finish reason, it may have been truncated before the usage.
    fn end(&mut self, _events: &mut Vec<ChatEvent>) -> Result<(), ModelError> {
        let is_told = self.last_usage.is_some() || !self.asks_usage;
        match (self.done, self.is_complete(), is_told) {
            (true, ..) | (_, true, true) => {
                self.done = true;
                Ok(())
            }
            (_, true, false) => Err(cut(
                "the answer is incomplete: it ended after its finish reason, without usage and without [DONE]",
            )),
            _ => Err(cut(
                "the answer is incomplete: it ended without a finish reason or [DONE]",
            )),
        }
    }

    fn is_done(&self) -> bool {
        self.done
    }

    fn pass(&mut self, name: Option<&str>, data: &[u8]) -> PassthroughCheck {
        // A line break in the data would be interpreted as part of the stream.
        if name.is_some() || self.done || data.iter().any(|byte| matches!(byte, b'\n' | b'\r')) {
            return PassthroughCheck::No;
        }
        let plain = plain::read(data).filter(|piece| piece.object == "chat.completion.chunk");
        plain.map_or(PassthroughCheck::No, |piece| self.accept_chunk(&piece))
    }

    fn accept_whole(&mut self, body: &[u8]) -> bool {
        let plain = plain::read(body).filter(|piece| piece.object == "chat.completion");
        let is_plain = plain.is_some_and(|piece| is_whole(&piece));
        // If the body is not eligible for pass-through, it is decoded from the beginning, so no
        // state may remain.
        (self.started, self.done) = (is_plain, is_plain);
        is_plain
    }

    fn passthrough_state(&self) -> PassthroughState {
        PassthroughState {
            begun: self.choices.keys().copied().collect(),
            ..self.told.clone()
        }
    }
}

impl ChatDecoder {
    /// Records a passed-through chunk.
    fn accept_chunk(&mut self, piece: &plain::PlainChunk<'_>) -> PassthroughCheck {
        let is_usage = piece.usage.is_some();
        let fits = match &piece.choices[..] {
            [] => is_usage && self.started,
            choices => !is_usage && choices.iter().all(|choice| self.is_plain(choice)),
        };
        // If a chunk contains two parts of one answer, their order would have to be checked, so it
        // is not passed through. The check is quadratic, but `n` is small and usually 1.
        let twice = piece.choices.iter().enumerate().any(|(at, choice)| {
            let before = piece.choices.iter().take(at);
            before.into_iter().any(|other| other.index == choice.index)
        });
        if !fits || twice {
            return PassthroughCheck::No;
        }
        if !self.started {
            self.started = true;
            self.told = PassthroughState {
                id: piece.id.to_owned(),
                model: piece.model.to_owned(),
                created: piece.created,
                begun: Vec::new(),
            };
        }
        for choice in &piece.choices {
            let progress = self.choices.entry(choice.index).or_default();
            let delta = choice.delta.iter();
            for call in delta.clone().flat_map(|delta| delta.calls()) {
                if let (Some(number), Some(id)) = (call.index, call.id) {
                    progress.calls.begin(number, id);
                }
            }
            progress.refused |= delta.clone().any(plain::PlainDelta::refuses);
            progress.finished |= choice.finish_reason.is_some();
        }
        match piece.usage {
            Some(tokens) => {
                self.last_usage = Some(counts(tokens));
                PassthroughCheck::Usage
            }
            None => PassthroughCheck::Yes,
        }
    }

    /// Whether a choice of a chunk is a valid continuation of a passed-through answer.
    fn is_plain(&self, choice: &plain::PlainChoice<'_>) -> bool {
        let Some(delta) = &choice.delta else {
            return false;
        };
        let progress = self.choices.get(&choice.index);
        let begun = progress.map_or(0, |progress| progress.calls.count());
        let mut calls = begun;
        for call in delta.calls() {
            let Some(number) = call.index.and_then(|number| usize::try_from(number).ok()) else {
                return false;
            };
            match number == calls && call.begins() {
                true => calls += 1,
                false if number < calls && call.goes_on() => {}
                false => return false,
            }
        }
        // A finish reason that the decoder would correct must not reach the client unchanged.
        let ends_well = |reason| plain::fits(reason, calls > 0);
        choice.error.is_none()
            && choice.message.is_none()
            && choice.index < MOST_CHOICES
            && calls <= MOST_CALLS
            && delta.is_plain()
            // Only the first chunk of an answer has a role.
            && delta.role.is_some() == progress.is_none()
            && progress.is_none_or(|progress| !progress.finished)
            && choice.finish_reason.is_none_or(ends_well)
    }
}

/// Whether all answers are complete and eligible for pass-through.
fn is_whole(piece: &plain::PlainChunk<'_>) -> bool {
    let is_plain = |(position, choice): (usize, &plain::PlainChoice<'_>)| {
        let Some(message) = &choice.message else {
            return false;
        };
        let calls = message.calls();
        let said = match &message.content {
            Some(Some(_)) => true,
            Some(None) => !calls.is_empty() || message.refuses(),
            None => false,
        };
        let fits = |reason| plain::fits(reason, !calls.is_empty());
        said && choice.error.is_none()
            && choice.delta.is_none()
            && usize::try_from(choice.index) == Ok(position)
            && choice.index < MOST_CHOICES
            && message.is_plain()
            && message.role.is_some()
            && calls.len() <= MOST_CALLS
            && calls.iter().all(plain::PlainCall::begins)
            && choice.finish_reason.is_some_and(fits)
    };
    !piece.choices.is_empty() && piece.choices.iter().enumerate().all(is_plain)
}

fn counts(tokens: plain::UsageFields) -> Usage {
    let input = tokens.prompt_tokens_details;
    let output = tokens.completion_tokens_details;
    Usage {
        input_tokens: tokens.prompt_tokens,
        output_tokens: tokens.completion_tokens,
        reasoning_tokens: output.and_then(|of| of.reasoning_tokens).unwrap_or(0),
        cache_read_tokens: input.and_then(|of| of.cached_tokens).unwrap_or(0),
        cache_write_tokens: input.and_then(|of| of.cache_write_tokens).unwrap_or(0),
    }
}

/// Converts the finish reason. Some servers send `stop` after calls.
fn meaning(raw: &str, has_no_calls: bool) -> FinishReason {
    match raw {
        "tool_calls" | "function_call" => FinishReason::ToolCalls,
        "length" | "max_tokens" | "model_length" => FinishReason::Length,
        "content_filter" => FinishReason::ContentFilter,
        "error" | "insufficient_system_resource" | "abort" => FinishReason::Error,
        // Clients rely on the finish reason and would ignore the calls if it were `stop`.
        _ if !has_no_calls => FinishReason::ToolCalls,
        _ => FinishReason::Stop,
    }
}

fn read_delta(
    choice: u32,
    delta: ChunkDelta<'_>,
    progress: &mut ChoiceState,
    events: &mut Vec<ChatEvent>,
) -> Result<(), ModelError> {
    let content = delta.content.unwrap_or_default();
    let details = delta.reasoning_details.unwrap_or_default();
    // Some providers send the same reasoning in several members, so only the first is used.
    let mut reasoning = non_empty(delta.reasoning_content)
        .or_else(|| non_empty(delta.reasoning))
        .unwrap_or_else(|| ReasoningState::visible(&details));
    reasoning.push_str(&content.thinking);
    progress.state.keep(details);
    if !reasoning.is_empty() {
        let text = reasoning;
        events.push(ChatEvent::Reasoning { choice, text });
    }
    if !content.text.is_empty() {
        let text = content.text;
        events.push(ChatEvent::Text { choice, text });
    }
    if let Some(text) = non_empty(delta.refusal) {
        progress.refused = true;
        events.push(ChatEvent::Refusal { choice, text });
    }
    let old = delta.function_call.map(CallDelta::of_function);
    for call in delta.tool_calls.unwrap_or_default().into_iter().chain(old) {
        events.extend(progress.calls.read(choice, call).map_err(broken)?);
    }
    Ok(())
}

fn number(raw: Option<&RawValue>) -> u64 {
    let number = raw.and_then(|raw| serde_json::from_str::<f64>(raw.get()).ok());
    number.unwrap_or(0.0).max(0.0) as u64
}

fn cut(cause: &str) -> ModelError {
    ModelError::new(ModelErrorKind::Cut, cause)
}

fn nothing() -> ModelError {
    broken(
        "the answer contains no chat completion; does the base URL end in the right path, usually /v1?".to_owned(),
    )
}

#[cfg(test)]
mod tests {
    use quillet_core::chat::Reply;
    use serde_json::json;

    use super::*;

    fn fold(pieces: &[&str]) -> Reply {
        let mut decoder = ChatDecoder::new("asked".into(), true);
        let mut events = Vec::new();
        for piece in pieces {
            decoder.event(None, piece.as_bytes(), &mut events).unwrap();
        }
        let mut reply = Reply::default();
        events.into_iter().for_each(|event| reply.fold(event));
        reply
    }

    fn calls(reply: &Reply) -> Vec<(&str, &str, &str)> {
        let calls = reply.choices[0].tool_calls.iter();
        calls
            .map(|call| (&*call.id, &*call.name, &*call.arguments))
            .collect()
    }

    #[test]
    fn calls_without_a_number_do_not_run_into_each_other() {
        let reply = fold(&[
            r#"{"choices":[{"delta":{"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{\"x\""}}]}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"function":{"arguments":":1}"}}]}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"id":"b","function":{"name":"g","arguments":{"y":2}}}]},"finish_reason":"stop"}]}"#,
        ]);
        let expected = [("a", "f", r#"{"x":1}"#), ("b", "g", r#"{"y":2}"#)];
        assert_eq!(calls(&reply), expected);
        assert_eq!(
            reply.choices[0].finish_reason,
            Some(FinishReason::ToolCalls)
        );
        assert_eq!(reply.model, "asked");
    }

    #[test]
    fn ids_and_names_that_are_repeated_count_once() {
        let reply = fold(&[
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":""}}]}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"b","function":{"name":"g","arguments":"{}"}}]}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"index":7,"id":"","function":{"name":"h","arguments":null}}]}}]}"#,
        ]);
        let calls = calls(&reply);
        assert_eq!(calls[..2], [("a", "f", "{}"), ("b", "g", "{}")]);
        assert_eq!(calls[2].1, "h");
        assert!(calls[2].0.starts_with("call_") && calls[2].0.len() == 29);
    }

    #[test]
    fn calls_that_are_interleaved_stay_apart() {
        let reply = fold(&[
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{"}},{"index":1,"id":"b","function":{"name":"g","arguments":"["}}]}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"index":1,"function":{"arguments":"]"}},{"index":0,"function":{"arguments":"}"}}]}}]}"#,
            r#"{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}"#,
        ]);
        assert_eq!(calls(&reply), [("a", "f", "{}"), ("b", "g", "[]")]);
    }

    #[test]
    fn odd_shapes_of_text_are_understood() {
        let reply = fold(&[
            r#"{"id":"i","choices":[{"delta":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":"a"}]}}]}"#,
            r#"{"choices":[{"delta":{"reasoning":"m","reasoning_content":"m","content":"b"}}]}"#,
            r#"{"choices":[{"delta":{"refusal":"no"}}],"created":"today"}"#,
        ]);
        assert_eq!(reply.choices[0].reasoning, "hmm");
        assert_eq!(reply.choices[0].text, "ab");
        assert_eq!(reply.choices[0].refusal, "no");
    }

    #[test]
    fn what_a_provider_wants_back_is_kept_in_its_words() {
        let reply = fold(&[
            r#"{"choices":[{"delta":{"reasoning_details":[{"type":"reasoning.text","index":0,"text":"a","format":"x"}]}}]}"#,
            r#"{"choices":[{"delta":{"reasoning_details":[{"type":"reasoning.text","index":0,"text":"b","signature":"s"}]}}]}"#,
            r#"{"choices":[{"delta":{"reasoning_details":[{"type":"reasoning.encrypted","index":1,"data":"d"}],"tool_calls":[{"id":"c","function":{"name":"f","arguments":"{}"},"extra_content":{"google":{"thought_signature":"t"}}}]},"finish_reason":"tool_calls"}]}"#,
        ]);
        let choice = &reply.choices[0];
        assert_eq!(choice.reasoning, "ab");
        let native = choice.native.as_ref().unwrap();
        assert_eq!(native.model.as_deref(), Some("asked"));
        let expected = json!({
            "reasoning_details": [
                {"type": "reasoning.text", "index": 0, "text": "ab", "format": "x", "signature": "s"},
                {"type": "reasoning.encrypted", "index": 1, "data": "d"},
            ],
            "tool_calls": [{"extra_content": {"google": {"thought_signature": "t"}}}],
        });
        assert_eq!(native.content, expected);
    }

    #[test]
    fn a_message_beside_a_delta_counts_once() {
        let piece =
            r#"{"id":"i","choices":[{"delta":{"content":"b"},"message":{"content":"ab"}}]}"#;
        assert_eq!(fold(&[piece]).choices[0].text, "b");
        let mut events = Vec::new();
        let mut decoder = ChatDecoder::new("m".into(), true);
        decoder.decode_body(piece.as_bytes(), &mut events).unwrap();
        let text = ChatEvent::Text {
            choice: 0,
            text: "ab".into(),
        };
        assert_eq!(events[1], text);
    }

    #[test]
    fn errors_inside_an_answer_have_their_kind() {
        let cases = [
            (
                None,
                r#"{"error":{"message":"no","code":429}}"#,
                ModelErrorKind::RateLimited,
            ),
            (
                None,
                r#"{"error":{"message":"no","type":"server_error"}}"#,
                ModelErrorKind::Provider,
            ),
            (None, r#"{"error":"no"}"#, ModelErrorKind::Provider),
            (
                Some("error"),
                r#"{"message":"no","code":"context_length_exceeded"}"#,
                ModelErrorKind::ContextLength,
            ),
            (Some("error"), "oops no", ModelErrorKind::Provider),
            (
                None,
                r#"{"choices":[{"delta":{},"finish_reason":"error","error":{"code":502,"message":"no"}}]}"#,
                ModelErrorKind::Provider,
            ),
        ];
        for (name, data, kind) in cases {
            let mut decoder = ChatDecoder::new("m".into(), true);
            let read = decoder.event(name, data.as_bytes(), &mut Vec::new());
            let error = read.unwrap_err();
            assert_eq!(error.kind, kind, "{data}");
        }
    }

    #[test]
    fn every_finish_reason_has_its_meaning() {
        let cases = [
            ("stop", true, FinishReason::Stop),
            ("stop", false, FinishReason::ToolCalls),
            ("eos", true, FinishReason::Stop),
            ("function_call", true, FinishReason::ToolCalls),
            ("length", false, FinishReason::Length),
            ("model_length", true, FinishReason::Length),
            ("content_filter", false, FinishReason::ContentFilter),
            ("error", true, FinishReason::Error),
        ];
        for (raw, has_no_calls, expected) in cases {
            assert_eq!(meaning(raw, has_no_calls), expected, "{raw}");
        }
    }
}
