//! Spans of a run, named after OpenTelemetry's conventions for generative AI. They include texts
//! only if the tracer records them.

use std::fmt::Display;
use std::time::Instant;

use quillet_core::chat::{ChatRequest, ModelError, Usage};
use quillet_core::trace::{OpenSpan, SpanKind, Tracer};
use quillet_core::{Message, Role, ToolCall};
use serde_json::{Value as Json, json};

use crate::answer::PartialTurn;
use crate::failure::CallFailure;
use crate::scope::RunContext;
use crate::{AgentOutcome, CompactionReport, EndReason, PromptVersion};

/// Starts the span of a run.
pub(crate) fn run(
    tracer: &Tracer,
    parent: Option<&str>,
    agent: Option<&str>,
    model: Option<&str>,
    prompt: Option<&PromptVersion>,
) -> OpenSpan {
    let name = agent.map_or("invoke_agent".to_owned(), |agent| {
        format!("invoke_agent {agent}")
    });
    let span = tracer.span(SpanKind::Run, name, parent);
    span.set("gen_ai.operation.name", || "invoke_agent");
    if let Some(agent) = agent {
        span.set("gen_ai.agent.name", || agent);
    }
    set_root(&span, tracer, model, prompt);
    span
}

/// Starts the root span of a chat outside of runs.
pub(crate) fn chat(
    tracer: &Tracer,
    model: Option<&str>,
    prompt: Option<&PromptVersion>,
) -> OpenSpan {
    let name = prompt.map_or("chat".to_owned(), |prompt| format!("prompt {}", prompt.id));
    let span = tracer.span(SpanKind::Run, name, None);
    set_root(&span, tracer, model, prompt);
    span
}

fn set_root(span: &OpenSpan, tracer: &Tracer, model: Option<&str>, prompt: Option<&PromptVersion>) {
    if let Some(model) = model {
        span.set("gen_ai.request.model", || model);
    }
    if let Some(prompt) = prompt {
        span.set("gen_ai.prompt.name", || prompt.id.as_str());
        if let Some(version) = prompt.version {
            span.set("gen_ai.prompt.version", || version);
        }
        if let Some(variables) = prompt.variables.as_ref().filter(|_| tracer.records_texts()) {
            let variables = || serde_json::to_value(variables).unwrap_or_default();
            span.set("quillet.prompt.variables", variables);
        }
    }
}

/// Ends the span with the outcome of the run.
pub(crate) fn end_run(span: &OpenSpan, outcome: &AgentOutcome) {
    set_usage(span, outcome.usage);
    span.set("quillet.model_calls", || outcome.model_calls);
    span.set("quillet.rounds", || outcome.rounds);
    span.set("quillet.ending", || ending(&outcome.ending));
    if let EndReason::Failed(error) = &outcome.ending {
        span.set("error.type", || error.code().as_str());
        span.fail(error);
    }
}

fn ending(ending: &EndReason) -> String {
    match ending {
        EndReason::Finished(reason) => reason.to_string(),
        EndReason::CallsRequired => "calls_required".to_owned(),
        EndReason::ApprovalRequired => "approval_required".to_owned(),
        EndReason::Silent { .. } => "silent_exit".to_owned(),
        EndReason::Cancelled => "cancelled".to_owned(),
        EndReason::Repeated { .. } => "repeated_calls".to_owned(),
        EndReason::Failed(error) => error.code().to_string(),
    }
}

/// Records a compaction as a span without a measured duration, which is negligible.
pub(crate) fn compacted(scope: &RunContext, report: &CompactionReport) {
    let tracer = &scope.tracer;
    let span = tracer.span(SpanKind::Step, "compact", scope.span.id());
    span.set("quillet.compaction", || json!(report));
}

/// Records a cancellation or timeout if the span is dropped before its end.
struct SpanGuard {
    span: OpenSpan,
    ended: bool,
}

impl SpanGuard {
    fn new(span: OpenSpan) -> Self {
        SpanGuard { span, ended: false }
    }

    fn failed(&mut self, code: &str, error: impl Display) {
        self.ended = true;
        self.span.set("error.type", || code);
        self.span.fail(error);
    }
}

impl Drop for SpanGuard {
    fn drop(&mut self) {
        if !self.ended {
            // The future was dropped by a timeout or a cancellation, which leaves no other trace.
            self.failed("cancelled", "ended before it was done");
        }
    }
}

/// Span of one model call.
pub(crate) struct ModelSpan {
    watched: SpanGuard,
    texts: bool,
    begun: Instant,
    heard: bool,
}

impl ModelSpan {
    /// Starts it with the request.
    pub(crate) fn begin(tracer: &Tracer, parent: Option<&str>, request: &ChatRequest) -> Self {
        let name = match &request.model {
            Some(model) => format!("chat {model}"),
            None => "chat".to_owned(),
        };
        let span = tracer.span(SpanKind::Model, name, parent);
        let texts = tracer.records_texts();
        span.set("gen_ai.operation.name", || "chat");
        span.set("gen_ai.request.stream", || true);
        set_request(&span, request);
        if texts {
            span.set("gen_ai.input.messages", || messages(&request.messages));
            span.set("gen_ai.tool.definitions", || json!(request.options.tools));
        }
        ModelSpan {
            watched: SpanGuard::new(span),
            texts,
            begun: Instant::now(),
            heard: false,
        }
    }

    /// Records that a delta of the answer arrived.
    pub(crate) fn on_delta(&mut self) {
        if self.heard {
            return;
        }
        self.heard = true;
        let seconds = self.begun.elapsed().as_secs_f64();
        let span = &self.watched.span;
        span.set("gen_ai.response.time_to_first_chunk", || seconds);
    }

    /// Records the answer so far.
    pub(crate) fn record_answer(&mut self, turn: &PartialTurn) {
        self.watched.ended = true;
        let (span, reply) = (&self.watched.span, &turn.rest);
        if !reply.id.is_empty() {
            span.set("gen_ai.response.id", || reply.id.as_str());
        }
        if !reply.model.is_empty() {
            span.set("gen_ai.response.model", || reply.model.as_str());
        }
        let choice = reply.choices.first();
        if let Some(reason) = choice.and_then(|choice| choice.finish_reason) {
            span.set("gen_ai.response.finish_reasons", || {
                json!([reason.as_str()])
            });
        }
        set_usage(span, reply.usage);
        if self.texts {
            span.set("gen_ai.output.messages", || json!([output(turn)]));
        }
    }

    /// Records an error.
    pub(crate) fn failed(&mut self, error: &ModelError) {
        self.watched.failed(error.kind.event_code().as_str(), error);
    }
}

fn set_request(span: &OpenSpan, request: &ChatRequest) {
    let options = &request.options;
    if let Some(model) = &request.model {
        span.set("gen_ai.request.model", || model.as_str());
    }
    let numbers = [
        ("gen_ai.request.temperature", options.temperature),
        ("gen_ai.request.top_p", options.top_p),
        (
            "gen_ai.request.frequency_penalty",
            options.frequency_penalty,
        ),
        ("gen_ai.request.presence_penalty", options.presence_penalty),
    ];
    for (name, number) in numbers {
        if let Some(number) = number {
            span.set(name, || number);
        }
    }
    if let Some(most) = options.max_tokens {
        span.set("gen_ai.request.max_tokens", || most);
    }
}

pub(crate) fn set_usage(span: &OpenSpan, usage: Option<Usage>) {
    let Some(usage) = usage else { return };
    span.set("gen_ai.usage.input_tokens", || usage.input_tokens);
    span.set("gen_ai.usage.output_tokens", || usage.output_tokens);
    let parts = [
        (
            "gen_ai.usage.reasoning.output_tokens",
            usage.reasoning_tokens,
        ),
        (
            "gen_ai.usage.cache_read.input_tokens",
            usage.cache_read_tokens,
        ),
        (
            "gen_ai.usage.cache_write.input_tokens",
            usage.cache_write_tokens,
        ),
    ];
    for (name, tokens) in parts {
        if tokens > 0 {
            span.set(name, || tokens);
        }
    }
}

/// Span of one tool call.
pub(crate) struct ToolSpan {
    watched: SpanGuard,
    texts: bool,
}

impl ToolSpan {
    /// Starts it with the call.
    pub(crate) fn begin(scope: &RunContext, call: &ToolCall) -> Self {
        let tracer = &scope.tracer;
        let name = format!("execute_tool {}", call.name);
        let span = tracer.span(SpanKind::Tool, name, scope.span.id());
        let texts = tracer.records_texts();
        span.set("gen_ai.operation.name", || "execute_tool");
        span.set("gen_ai.tool.name", || call.name.as_str());
        span.set("gen_ai.tool.call.id", || call.id.as_str());
        span.set("gen_ai.tool.type", || "function");
        if texts {
            span.set("gen_ai.tool.call.arguments", || call.arguments.as_str());
        }
        ToolSpan {
            watched: SpanGuard::new(span),
            texts,
        }
    }

    /// Ends it with the result as the model reads it.
    pub(crate) fn record_answer(mut self, for_model: &str) {
        self.watched.ended = true;
        if self.texts {
            let span = &self.watched.span;
            span.set("gen_ai.tool.call.result", || for_model);
        }
    }

    /// Ends it with an error. The text for the model may quote arguments, so it is recorded only if
    /// texts are.
    pub(crate) fn failed(mut self, failure: &CallFailure) {
        let text = if self.texts {
            &failure.text
        } else {
            failure.code.as_str()
        };
        self.watched.failed(failure.code.as_str(), text);
    }
}

/// Converts messages to the format of the conventions: roles with parts.
fn messages(messages: &[Message]) -> Json {
    messages.iter().map(message).collect()
}

fn message(message: &Message) -> Json {
    let mut parts = Vec::new();
    if let Some(reasoning) = &message.reasoning {
        parts.push(json!({"type": "reasoning", "content": reasoning}));
    }
    let text = message.content.to_string();
    match &message.tool_call_id {
        Some(id) => parts.push(json!({"type": "tool_call_response", "id": id, "response": text})),
        None if text.is_empty() => {}
        None => parts.push(json!({"type": "text", "content": text})),
    }
    parts.extend(message.tool_calls.iter().map(call));
    json!({"role": message.role.as_str(), "parts": parts})
}

fn call(call: &ToolCall) -> Json {
    let arguments = match call.arguments_object() {
        Some(arguments) => Json::Object(arguments),
        // Truncated arguments are recorded as text.
        None => Json::String(call.arguments.clone()),
    };
    json!({"type": "tool_call", "id": call.id, "name": call.name, "arguments": arguments})
}

fn output(turn: &PartialTurn) -> Json {
    let choice = turn.rest.choices.first();
    let mut said = Message::new(Role::Assistant, turn.text.as_str());
    said.reasoning = Some(turn.reasoning.clone()).filter(|text| !text.is_empty());
    said.tool_calls = choice
        .map(|choice| choice.tool_calls.clone())
        .unwrap_or_default();
    let mut output = message(&said);
    let reason = choice.and_then(|choice| choice.finish_reason);
    output["finish_reason"] = json!(reason.map(|reason| reason.as_str()));
    output
}
