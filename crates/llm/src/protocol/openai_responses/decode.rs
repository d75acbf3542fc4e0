//! Decodes answers into events. Items may be interleaved and are identified by `output_index`;
//! there is no `[DONE]`. Unknown events are skipped, but their items are still stored with the
//! turn.

use quillet_core::chat::{ChatEvent, FinishReason, ModelError, ModelErrorKind, Usage};
use serde_json::Value;

use super::turn::ResponseState;
use crate::protocol::{Decoder, broken, made, openai_error, parse};

/// Decoder of one answer.
#[derive(Debug)]
pub(super) struct ResponsesDecoder {
    model: String,
    started: bool,
    done: bool,
    turn: ResponseState,
}

impl ResponsesDecoder {
    /// Creates a decoder for an answer of this model.
    pub(super) fn new(model: String) -> Self {
        ResponsesDecoder {
            model,
            started: false,
            done: false,
            turn: ResponseState::default(),
        }
    }

    fn start(&mut self, response: &Value, events: &mut Vec<ChatEvent>) {
        if std::mem::replace(&mut self.started, true) {
            return;
        }
        let text = |name: &str| {
            let text = response.get(name).and_then(Value::as_str);
            text.filter(|text| !text.is_empty()).map(str::to_owned)
        };
        let created = response.get("created_at").and_then(Value::as_f64);
        events.push(ChatEvent::Start {
            id: text("id").unwrap_or_else(made::answer_id),
            model: text("model").unwrap_or_else(|| self.model.clone()),
            created: match created.unwrap_or(0.0) as u64 {
                0 => made::now(),
                created => created,
            },
        });
    }

    /// Decodes the complete response, at the end of a stream or unstreamed.
    fn finish(
        &mut self,
        response: &Value,
        status: &str,
        events: &mut Vec<ChatEvent>,
    ) -> Result<(), ModelError> {
        self.start(response, events);
        let error = response.get("error").filter(|error| !error.is_null());
        if status == "failed" || error.is_some() {
            let found = openai_error::error_fields(error.unwrap_or(&Value::Null));
            return Err(openai_error::inside(&found));
        }
        if matches!(status, "queued" | "in_progress" | "cancelled") {
            return Err(ModelError::new(
                ModelErrorKind::Cut,
                format!(
                    "the response is {status} and not complete: remove \"background\" from the request"
                ),
            ));
        }
        let output = response.get("output").and_then(Value::as_array);
        let output = output.map(Vec::as_slice).unwrap_or_default();
        self.turn.close(output, events)?;
        let reason = response.pointer("/incomplete_details/reason");
        let reason = reason.and_then(Value::as_str).unwrap_or_default();
        let (meant, raw) = match (status, reason) {
            ("incomplete", "content_filter") => {
                (FinishReason::ContentFilter, format!("incomplete:{reason}"))
            }
            ("incomplete", "") => (FinishReason::Length, "incomplete".to_owned()),
            ("incomplete", _) => (FinishReason::Length, format!("incomplete:{reason}")),
            _ if self.turn.has_calls() => (FinishReason::ToolCalls, status.to_owned()),
            _ if self.turn.has_refused() => (FinishReason::Refusal, status.to_owned()),
            _ => (FinishReason::Stop, status.to_owned()),
        };
        let native = std::mem::take(&mut self.turn).into_native(&self.model);
        events.extend(native.map(|turn| ChatEvent::Native { choice: 0, turn }));
        events.push(ChatEvent::Finish {
            choice: 0,
            reason: meant,
            raw,
        });
        events.extend(response.get("usage").and_then(usage).map(ChatEvent::Usage));
        self.done = true;
        Ok(())
    }
}

impl Decoder for ResponsesDecoder {
    fn event(
        &mut self,
        name: Option<&str>,
        data: &[u8],
        events: &mut Vec<ChatEvent>,
    ) -> Result<(), ModelError> {
        // Some compatible servers end the stream like Chat Completions.
        if matches!(data.trim_ascii(), b"[DONE]" | b"null") {
            return Ok(());
        }
        let event: Value = parse(data)?;
        let kind = event.get("type").and_then(Value::as_str).or(name);
        let response = event.get("response").unwrap_or(&Value::Null);
        match kind.unwrap_or_default() {
            "error" => {
                let found = openai_error::said_in(&event);
                let found = found.unwrap_or_else(|| openai_error::error_fields(&event));
                Err(openai_error::inside(&found))
            }
            "response.completed" => self.finish(response, "completed", events),
            "response.incomplete" => self.finish(response, "incomplete", events),
            "response.failed" => self.finish(response, "failed", events),
            "response.created" | "response.in_progress" | "response.queued" => {
                self.start(response, events);
                Ok(())
            }
            // An event without a type can only be an error of an intermediary.
            "" => match openai_error::said_in(&event) {
                Some(found) => Err(openai_error::inside(&found)),
                None => Ok(()),
            },
            kind => {
                if kind.starts_with("response.") {
                    self.start(response, events);
                }
                self.turn.event(kind, &event, events)
            }
        }
    }

    fn decode_body(&mut self, body: &[u8], events: &mut Vec<ChatEvent>) -> Result<(), ModelError> {
        let response: Value = serde_json::from_slice(body)
            .map_err(|error| broken(format!("unexpected answer ({error})")))?;
        let has_output = response.get("output").is_some_and(Value::is_array);
        if let Some(found) = openai_error::said_in(&response).filter(|_| !has_output) {
            return Err(openai_error::inside(&found));
        }
        if !has_output {
            return Err(broken(
                "the answer contains no response object; does the base URL end in the right path, usually /v1?".to_owned(),
            ));
        }
        let status = response.get("status").and_then(Value::as_str);
        let status = status.unwrap_or("completed").to_owned();
        self.finish(&response, &status, events)
    }

    fn end(&mut self, _events: &mut Vec<ChatEvent>) -> Result<(), ModelError> {
        if self.done {
            return Ok(());
        }
        Err(ModelError::new(
            ModelErrorKind::Cut,
            "the answer is incomplete: it ended without response.completed",
        ))
    }

    fn is_done(&self) -> bool {
        self.done
    }
}

fn usage(usage: &Value) -> Option<Usage> {
    let count = |pointer: &str| {
        let number = usage.pointer(pointer).and_then(Value::as_f64);
        number.unwrap_or(0.0).max(0.0) as u64
    };
    usage.is_object().then(|| Usage {
        input_tokens: count("/input_tokens"),
        output_tokens: count("/output_tokens"),
        reasoning_tokens: count("/output_tokens_details/reasoning_tokens"),
        cache_read_tokens: count("/input_tokens_details/cached_tokens"),
        cache_write_tokens: count("/input_tokens_details/cache_write_tokens"),
    })
}
