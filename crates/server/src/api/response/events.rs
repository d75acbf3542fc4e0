//! The events of a run, with Chat Shell's names and payloads (`docs/agent/response.md`).
//! `response.start` is first. The last event is one of `response.done`, `response.cancelled` and
//! `response.error`. Other events are in any order between them.

use quillet_agent::{AgentError, AgentEvent, AgentOutcome, Citation, CompactionReport, EndReason};
use quillet_core::chat::{FinishReason, Usage};
use quillet_core::{ErrorCode, Value, clock};
use quillet_host::agent::CLARIFY;
use serde::Serialize;
use serde_json::{Map, json};

use super::blocks::{BlockOptions, Blocks, display_name};

/// The event of a failed run.
pub(super) const ERROR: &str = "response.error";

/// An encoded event.
#[derive(Clone, Debug)]
pub(super) struct WireEvent {
    pub(super) name: &'static str,
    /// The JSON data, on one line.
    pub(super) data: String,
}

/// Encodes the events of a run.
#[derive(Debug)]
pub(super) struct AgentEncoder {
    id: String,
    provider: Option<String>,
    blocks: Blocks,
    /// Events that are only sent on request: `tool_limit_reached`, `sources.update`.
    wanted: Vec<String>,
    sources: Vec<Citation>,
    /// The cost in US dollars, known at the end.
    cost: Option<f64>,
    warnings: Vec<String>,
}

#[derive(Serialize)]
struct BlockDelta<'a> {
    r#type: &'static str,
    text: &'a str,
    block_id: &'a str,
    block_offset: usize,
}

#[derive(Serialize)]
struct Reasoning<'a> {
    text: &'a str,
}

#[derive(Serialize)]
struct CallStarted<'a> {
    id: &'a str,
    name: &'a str,
    input: &'a Map<String, serde_json::Value>,
    display_name: String,
    blocks: &'a Blocks,
}

#[derive(Serialize)]
struct CallDone<'a> {
    id: &'a str,
    output: &'a Value,
    duration_ms: u64,
    error: Option<&'a str>,
    sources: Option<&'a [Citation]>,
    display_name: String,
    blocks: &'a Blocks,
}

#[derive(Serialize)]
struct CallRequired<'a> {
    id: &'a str,
    name: &'a str,
    input: &'a Map<String, serde_json::Value>,
}

#[derive(Debug, Serialize)]
struct WireUsage {
    input_tokens: u64,
    output_tokens: u64,
    total_tokens: u64,
    cache_read_input_tokens: u64,
    cache_creation_input_tokens: u64,
    reasoning_tokens: u64,
}

/// The payload of `response.done`. With `content` it is the complete response for a client that
/// does not stream.
#[derive(Serialize)]
pub(super) struct ResponseDone<'a> {
    id: &'a str,
    usage: Option<WireUsage>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cost_usd: Option<f64>,
    stop_reason: &'static str,
    sources: Option<&'a [Citation]>,
    blocks: &'a Blocks,
    silent_exit: bool,
    silent_exit_reason: Option<&'a str>,
    #[serde(skip_serializing_if = "is_false")]
    tool_limit_reached: bool,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    loaded_skills: &'a [String],
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    warnings: &'a [String],
    #[serde(skip_serializing_if = "str::is_empty")]
    reasoning_content: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<&'a str>,
}

fn is_false(value: &bool) -> bool {
    !value
}

/// The payload of `response.error`.
#[derive(Debug, Serialize)]
pub(super) struct ResponseError {
    pub(super) code: ErrorCode,
    pub(super) message: String,
    pub(super) details: Details,
    /// The usage so far, if the run had begun.
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<WireUsage>,
}

/// Details of a failure.
#[derive(Debug, Default, Serialize)]
pub(super) struct Details {
    provider: Option<String>,
    http_status: Option<u16>,
    provider_code: Option<String>,
    request_id: Option<String>,
    pub(super) retry_after_s: Option<f64>,
    retryable: bool,
}

impl AgentEncoder {
    pub(super) fn new(id: String, blocks: BlockOptions, wanted: Vec<String>) -> Self {
        AgentEncoder {
            id,
            provider: None,
            blocks: Blocks::new(blocks),
            wanted,
            sources: Vec::new(),
            cost: None,
            warnings: Vec::new(),
        }
    }

    /// Sets the cost of the run in US dollars, if known. Must be called before the last event.
    pub(super) fn cost(&mut self, dollars: Option<f64>) {
        self.cost = dollars;
    }

    /// Sets the provider for error events. It is known when the run is prepared.
    pub(super) fn provider(&mut self, name: Option<&str>) {
        if self.provider.is_none() {
            self.provider = name.map(str::to_owned);
        }
    }

    /// Sets the warnings for the caller. They are known when the run is prepared.
    pub(super) fn warn(&mut self, warnings: &[String]) {
        if self.warnings.len() != warnings.len() {
            self.warnings = warnings.to_vec();
        }
    }

    /// Returns the first event.
    pub(super) fn start(&self, model: &str) -> WireEvent {
        let created = clock::since_epoch().as_secs();
        let start = json!({"id": self.id, "model": model, "created": created});
        wire_event("response.start", &start)
    }

    /// Encodes an event of the run. The last event of a run yields a terminal event.
    pub(super) fn encode(&mut self, event: &AgentEvent, into: &mut Vec<WireEvent>) {
        match event {
            AgentEvent::Text(text) if text.is_empty() => {}
            AgentEvent::Text(text) => into.push(self.text(text)),
            AgentEvent::Reasoning(text) => {
                into.push(wire_event("reasoning.delta", &Reasoning { text }));
            }
            AgentEvent::ToolStarted { id, name, input } => {
                self.blocks.call(id, name, input);
                let display_name = display_name(name);
                let blocks = &self.blocks;
                into.push(wire_event(
                    "tool.start",
                    &CallStarted {
                        id,
                        name,
                        input,
                        display_name,
                        blocks,
                    },
                ));
            }
            AgentEvent::ToolDone { .. } => self.call_done(event, into),
            AgentEvent::CallRequired { id, name, input } => {
                into.push(call_required(id, name, input));
            }
            AgentEvent::ApprovalRequired {
                id,
                name,
                input,
                why,
            } => {
                let required = json!({"id": id, "name": name, "display_name": display_name(name), "input": input, "why": why});
                into.push(wire_event("approval.required", &required));
            }
            AgentEvent::Resumed { text } => {
                into.push(wire_event(
                    "response.resumed",
                    &json!({"id": self.id, "content": text}),
                ));
            }
            AgentEvent::Compacted(report) => into.push(compacted(report)),
            AgentEvent::ToolLimitReached { rounds } if self.wants("tool_limit_reached") => {
                let message = format!("the limit of {rounds} rounds of tool calls is reached");
                let limit = json!({"max_calls": rounds, "message": message});
                into.push(wire_event("tool_limit_reached", &limit));
            }
            AgentEvent::ToolLimitReached { .. } | AgentEvent::SkillLoaded { .. } => {}
            AgentEvent::Ended(outcome) => into.push(self.ended(outcome)),
        }
    }

    fn wants(&self, event: &str) -> bool {
        self.wanted.iter().any(|wanted| wanted == event)
    }

    fn text(&mut self, text: &str) -> WireEvent {
        let (block_id, block_offset) = self.blocks.text(text);
        let delta = BlockDelta {
            r#type: "text",
            text,
            block_id,
            block_offset,
        };
        wire_event("content.delta", &delta)
    }

    fn call_done(&mut self, event: &AgentEvent, into: &mut Vec<WireEvent>) {
        let AgentEvent::ToolDone {
            id,
            name,
            output,
            for_model,
            error,
            took,
            sources,
        } = event
        else {
            return;
        };
        self.blocks.result(id, name, output, error.is_some());
        // If the value is nested too deeply for JSON, send the text that the model receives.
        let written = Value::from(for_model.as_str());
        let output = if output.depth() > quillet_core::value::MAX_DEPTH {
            &written
        } else {
            output
        };
        let done = CallDone {
            id,
            output,
            duration_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
            error: error.as_deref(),
            sources: some(sources),
            display_name: display_name(name),
            blocks: &self.blocks,
        };
        into.push(wire_event("tool.done", &done));
        if !sources.is_empty() && self.wants("sources.update") {
            self.sources.extend(sources.iter().cloned());
            into.push(wire_event(
                "sources.update",
                &json!({"sources": self.sources}),
            ));
        }
    }

    fn ended(&mut self, outcome: &AgentOutcome) -> WireEvent {
        match &outcome.ending {
            EndReason::Failed(error) => {
                let failure = ResponseError {
                    usage: outcome.usage.map(wire_usage),
                    ..self.failure(error)
                };
                wire_event(ERROR, &failure)
            }
            EndReason::Cancelled => {
                self.blocks.close(true);
                let mut cancelled = json!({
                    "id": self.id,
                    "partial_content": outcome.text,
                    "usage": outcome.usage.map(wire_usage),
                    "blocks": self.blocks,
                });
                if let Some(cost) = self.cost {
                    cancelled["cost_usd"] = cost.into();
                }
                wire_event("response.cancelled", &cancelled)
            }
            EndReason::Finished(_)
            | EndReason::Repeated { .. }
            | EndReason::CallsRequired
            | EndReason::ApprovalRequired
            | EndReason::Silent { .. } => wire_event("response.done", &self.done(outcome, false)),
        }
    }

    /// Returns the payload of `response.done`. `whole` is true for clients that did not receive the
    /// earlier events.
    pub(super) fn done<'a>(
        &'a mut self,
        outcome: &'a AgentOutcome,
        whole: bool,
    ) -> ResponseDone<'a> {
        self.blocks.close(false);
        let reason = match &outcome.ending {
            EndReason::Silent { reason } => Some(reason.as_str()),
            _ => None,
        };
        ResponseDone {
            id: &self.id,
            usage: outcome.usage.map(wire_usage),
            cost_usd: self.cost,
            stop_reason: stop_reason(&outcome.ending),
            sources: some(&outcome.sources),
            blocks: &self.blocks,
            silent_exit: reason.is_some(),
            silent_exit_reason: reason,
            tool_limit_reached: outcome.tool_limit_reached,
            loaded_skills: &outcome.loaded_skills,
            warnings: &self.warnings,
            reasoning_content: &outcome.reasoning,
            content: whole.then_some(outcome.text.as_str()),
            reasoning: whole.then_some(outcome.reasoning.as_str()),
        }
    }

    /// Returns the payload of `response.error`.
    pub(super) fn failure(&self, error: &AgentError) -> ResponseError {
        let details = match error {
            AgentError::Model(model) => Details {
                http_status: model.status,
                provider_code: model.provider_code.clone(),
                request_id: model.request_id.clone(),
                retry_after_s: model.retry_after.map(|time| time.as_secs_f64()),
                retryable: model.kind.retryable(),
                ..Details::default()
            },
            _ => Details::default(),
        };
        ResponseError {
            code: error.code(),
            message: error_message(error),
            details: Details {
                provider: self.provider.clone(),
                ..details
            },
            usage: None,
        }
    }
}

/// Returns the payload of [`ERROR`] for a run that ended without a terminal event.
pub(super) fn interrupted(message: &str) -> String {
    let failure = ResponseError {
        code: ErrorCode::RunInterrupted,
        message: message.to_owned(),
        details: Details {
            retryable: true,
            ..Details::default()
        },
        usage: None,
    };
    wire_event(ERROR, &failure).data
}

/// Returns a message that is never empty, although a reset connection has no message.
fn error_message(error: &AgentError) -> String {
    let text = error.to_string();
    if text.trim().is_empty() {
        format!("the run failed ({})", error.code())
    } else {
        text
    }
}

/// Encodes the model's question to the user, which is a call of a built-in tool.
fn call_required(id: &str, name: &str, input: &Map<String, serde_json::Value>) -> WireEvent {
    if name != CLARIFY {
        return wire_event("tool.call_required", &CallRequired { id, name, input });
    }
    let member = |name: &str| input.get(name).cloned();
    let question = json!({
        "id": id,
        "question": member("question").unwrap_or_default(),
        "options": member("options").unwrap_or_else(|| json!([])),
    });
    wire_event("clarification", &question)
}

fn compacted(report: &CompactionReport) -> WireEvent {
    wire_event("context.compacted", report)
}

fn stop_reason(ending: &EndReason) -> &'static str {
    match ending {
        EndReason::Finished(reason) => match reason {
            FinishReason::Stop | FinishReason::Pause => "end_turn",
            FinishReason::ToolCalls => "tool_use",
            FinishReason::Length => "max_tokens",
            FinishReason::ContentFilter => "content_filter",
            FinishReason::Refusal => "refusal",
            FinishReason::Error => "error",
        },
        EndReason::Repeated { .. } => "repeated_calls",
        EndReason::CallsRequired => "tool_use",
        EndReason::ApprovalRequired => "approval_required",
        EndReason::Silent { .. } => "silent_exit",
        EndReason::Cancelled => "cancelled",
        EndReason::Failed(_) => "error",
    }
}

fn wire_usage(usage: Usage) -> WireUsage {
    WireUsage {
        input_tokens: usage.input_tokens,
        output_tokens: usage.output_tokens,
        total_tokens: usage.total_tokens(),
        cache_read_input_tokens: usage.cache_read_tokens,
        cache_creation_input_tokens: usage.cache_write_tokens,
        reasoning_tokens: usage.reasoning_tokens,
    }
}

fn some(sources: &[Citation]) -> Option<&[Citation]> {
    (!sources.is_empty()).then_some(sources)
}

fn wire_event(name: &'static str, payload: &impl Serialize) -> WireEvent {
    let data = serde_json::to_string(payload)
        .unwrap_or_else(|error| json!({"error": error.to_string()}).to_string());
    WireEvent { name, data }
}

/// Encodes an event as bytes.
pub(super) fn frame(sequence: u64, name: &str, data: &str) -> String {
    let number = sequence.to_string();
    ["id: ", &number, "\nevent: ", name, "\ndata: ", data, "\n\n"].concat()
}
