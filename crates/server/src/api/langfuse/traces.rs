//! Traces and observations in Langfuse's format: `GET /api/public/traces/{id}`, `GET
//! /api/public/observations/{id}` and `GET /api/public/v2/observations`. Clients from version 5 on
//! only use the last one. Runs of this server's own agents are included.

use std::collections::BTreeMap;

use axum::response::Response;
use quillet_core::ErrorCode;
use quillet_core::trace::{Span, SpanKind, Trace, TraceReader};
use quillet_host::definitions::{DefinitionError, Permission};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::answer::PROJECT;
use super::create::wrong;
use super::spans::KIND;
use crate::api::client_fill::known_id;
use crate::api::{Id, json_body as answer};
use crate::error::{ApiError, problem};
use crate::extract::QueryParams;
use crate::request_context::RequestContext;

/// The default and the maximum number of observations per page.
const PAGE: (usize, usize) = (50, 1000);

/// The prefix of attributes with metadata of an observation.
const METADATA: &str = "langfuse.observation.metadata";
/// The prefix of attributes with metadata of a trace.
const TRACE_METADATA: &str = "langfuse.trace.metadata";
/// The environment of spans that do not set one.
const ENVIRONMENT: &str = "default";
const INPUT: &str = "langfuse.observation.input";
const OUTPUT: &str = "langfuse.observation.output";

/// Returns a trace with all of its observations.
pub(super) async fn trace(call: RequestContext, Id(id): Id) -> Result<Response, ApiError> {
    let found = trace_reader(&call).await?.trace(&id).await;
    let found = found.map_err(DefinitionError::Store)?;
    let found = found.ok_or_else(|| absent("Trace", &id))?;
    answer(&trace_object(&call, &found))
}

/// Returns one observation.
pub(super) async fn observation(call: RequestContext, Id(id): Id) -> Result<Response, ApiError> {
    let found = trace_reader(&call).await?.trace_of_span(&id).await;
    let found = found.map_err(DefinitionError::Store)?;
    let found = found.as_ref();
    let span = found.and_then(|trace| Some((trace, trace.spans.iter().find(|it| it.id == id)?)));
    let (trace, span) = span.ok_or_else(|| absent("Observation", &id))?;
    answer(&observation_object(&call, &trace.id, span))
}

/// Query parameters of a list of observations. The response always contains all groups of members,
/// regardless of `fields`, and the complete metadata.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct LangfuseTracesQuery {
    trace_id: Option<String>,
    limit: Option<String>,
    cursor: Option<String>,
    #[serde(flatten)]
    others: BTreeMap<String, String>,
}

/// Lists the observations of a trace, page by page. Inputs and outputs are the texts that were
/// sent.
pub(super) async fn observations(
    call: RequestContext,
    QueryParams(query): QueryParams<LangfuseTracesQuery>,
) -> Result<Response, ApiError> {
    let kept = trace_reader(&call).await?;
    let id = query
        .trace_id
        .ok_or_else(|| wrong("traceId", "required: observations are read by trace"))?;
    let is_form = |name: &str| matches!(name, "fields" | "expandMetadata" | "parseIoAsJson");
    if let Some(filter) = query.others.keys().find(|name| !is_form(name)) {
        return Err(wrong(
            filter,
            "unsupported filter: observations are found by traceId only",
        ));
    }
    let number = |name: &str, text: &Option<String>, usual| match text {
        None => Ok(usual),
        Some(text) => text
            .parse()
            .map_err(|_| wrong(name, "expected a whole number")),
    };
    let limit = number("limit", &query.limit, PAGE.0)?.clamp(1, PAGE.1);
    let first = number("cursor", &query.cursor, 0)?;
    let trace = kept.trace(&id).await.map_err(DefinitionError::Store)?;
    let spans = trace.iter().flat_map(|trace| &trace.spans);
    let count = spans.clone().count();
    let shown = spans.skip(first).take(limit).map(|span| {
        let mut one = observation_object(&call, &id, span);
        for (member, name) in [("input", INPUT), ("output", OUTPUT)] {
            one[member] = span.attributes.get(name).cloned().unwrap_or_default();
        }
        one["isRootObservation"] = span.parent.is_none().into();
        one
    });
    let data: Vec<Value> = shown.collect();
    let next = first.saturating_add(limit);
    let cursor = (next < count).then(|| next.to_string());
    answer(&json!({"data": data, "meta": {"cursor": cursor}}))
}

/// Returns the store of traces. Requires `read` for all prompts, because a trace can contain any of
/// them.
async fn trace_reader(call: &RequestContext) -> Result<&dyn TraceReader, ApiError> {
    call.require_everywhere(Permission::Read).await?;
    let none = || {
        let message = "traces are not enabled on this server";
        problem(ErrorCode::NotFound, message).with_hint("set agent.traces to a file")
    };
    call.app.traces.as_deref().ok_or_else(none)
}

fn absent(what: &str, id: &str) -> ApiError {
    let message = format!("{what} not found: '{id}' within authorized project");
    problem(ErrorCode::NotFound, message)
}

fn trace_object(call: &RequestContext, trace: &Trace) -> Value {
    let root = trace.spans.first();
    // Any span may have the attributes of the trace.
    let said = |name: &str| {
        trace
            .spans
            .iter()
            .find_map(|span| span.attributes.get(name))
    };
    let of_root = |name: &str| root.and_then(|root| root.attributes.get(name));
    let began = trace.spans.iter().map(|span| span.started_us).min();
    let ended = trace.spans.iter().map(end).max();
    let (began, ended) = (began.unwrap_or_default(), ended.unwrap_or_default());
    let observations: Vec<Value> = trace
        .spans
        .iter()
        .map(|span| observation_object(call, &trace.id, span))
        .collect();
    let costs = observations.iter().map(|one| &one["costDetails"]["total"]);
    let metadata: Map<String, Value> = trace
        .spans
        .iter()
        .flat_map(|span| below(span, TRACE_METADATA))
        .collect();
    let name = said("langfuse.trace.name").cloned();
    let io = |of_trace: &str, of_span: &str| {
        let found = said(of_trace).or_else(|| of_root(of_span));
        found.map(parsed)
    };
    json!({
        "id": trace.id,
        "projectId": PROJECT,
        "timestamp": time(began),
        "name": name.or_else(|| root.map(|root| root.name.as_str().into())),
        "input": io("langfuse.trace.input", INPUT),
        "output": io("langfuse.trace.output", OUTPUT),
        "sessionId": said("session.id"),
        "userId": said("user.id"),
        "release": said("langfuse.release"),
        "version": said("langfuse.version"),
        "metadata": metadata,
        "tags": said("langfuse.trace.tags").filter(|tags| tags.is_array()).unwrap_or(&json!([])),
        "public": said("langfuse.trace.public").is_some_and(|public| *public == true),
        "environment": said("langfuse.environment").unwrap_or(&json!(ENVIRONMENT)),
        "htmlPath": "",
        "latency": seconds(ended.saturating_sub(began)),
        "totalCost": costs.filter_map(Value::as_f64).sum::<f64>(),
        "observations": observations,
        "scores": [],
    })
}

fn observation_object(call: &RequestContext, trace: &str, span: &Span) -> Value {
    let said = |name: &str| span.attributes.get(name);
    let object = |name: &str| said(name).map(parsed).filter(Value::is_object);
    let usage = object("langfuse.observation.usage_details").unwrap_or_else(|| usage(span));
    let metadata: Map<String, Value> = below(span, METADATA).collect();
    let level = match &span.error {
        Some(_) => "ERROR",
        None => "DEFAULT",
    };
    let model = said("langfuse.observation.model.name");
    let message = said("langfuse.observation.status_message").cloned();
    let mut all = json!({
        "id": span.id,
        "traceId": trace,
        "projectId": PROJECT,
        "type": kind(span),
        "name": span.name,
        "startTime": time(span.started_us),
        "endTime": time(end(span)),
        "completionStartTime": said("langfuse.observation.completion_start_time").map(parsed),
        "model": model.or_else(|| said("gen_ai.request.model")),
        "modelParameters": object("langfuse.observation.model.parameters").unwrap_or_default(),
        "input": said(INPUT).or_else(|| said("gen_ai.input.messages")).map(parsed),
        "output": said(OUTPUT).or_else(|| said("gen_ai.output.messages")).map(parsed),
        "version": said("langfuse.version"),
        "metadata": metadata,
        "level": said("langfuse.observation.level").unwrap_or(&json!(level)),
        "statusMessage": message.or_else(|| span.error.as_deref().map(Value::from)),
        "parentObservationId": span.parent,
        "usage": {
            "input": usage["input"].as_u64().unwrap_or_default(),
            "output": usage["output"].as_u64().unwrap_or_default(),
            "total": usage["total"].as_u64().unwrap_or_default(),
            "unit": "TOKENS",
        },
        "usageDetails": usage,
        "costDetails": object("langfuse.observation.cost_details").unwrap_or_else(|| json!({})),
        "environment": said("langfuse.environment").unwrap_or(&json!(ENVIRONMENT)),
        "latency": seconds(span.duration_us),
        "promptId": null,
        "promptName": null,
        "promptVersion": null,
    });
    if let Some((name, id, version)) = prompt(call, span) {
        all["promptId"] = format!("{id}@{version}").into();
        all["promptName"] = name.into();
        all["promptVersion"] = version.into();
    }
    all
}

/// Returns the name, id and version of the prompt that was used. Clients omit both if they used a
/// fallback text.
fn prompt(call: &RequestContext, span: &Span) -> Option<(String, String, u64)> {
    let text = |name: &str| span.attributes.get(name)?.as_str();
    let number = |name: &str| {
        let version = span.attributes.get(name)?;
        let of_text = || version.as_str()?.parse().ok();
        version.as_u64().or_else(of_text)
    };
    if let Some(name) = text("langfuse.observation.prompt.name") {
        let version = number("langfuse.observation.prompt.version")?;
        return Some((name.to_owned(), known_id(call, name).ok()?, version));
    }
    let id = text("gen_ai.prompt.name")?;
    let version = number("gen_ai.prompt.version")?;
    Some((id.to_owned(), id.to_owned(), version))
}

/// Returns the kind of a span in Langfuse's terms.
fn kind(span: &Span) -> String {
    let said = span.attributes.get(KIND).and_then(Value::as_str);
    let own = match span.kind {
        SpanKind::Model => "generation",
        SpanKind::Tool => "tool",
        SpanKind::Run | SpanKind::Render | SpanKind::Step => "span",
    };
    said.unwrap_or(own).to_ascii_uppercase()
}

/// Returns the token usage of a model call.
fn usage(span: &Span) -> Value {
    let count = |name: &str| span.attributes.get(name)?.as_u64();
    let input = count("gen_ai.usage.input_tokens");
    let output = count("gen_ai.usage.output_tokens");
    match (input, output) {
        (None, None) => json!({}),
        (input, output) => {
            let (input, output) = (input.unwrap_or_default(), output.unwrap_or_default());
            json!({"input": input, "output": output, "total": input.saturating_add(output)})
        }
    }
}

/// Returns the attributes below a prefix, with the names after it.
fn below<'a>(span: &'a Span, begin: &str) -> impl Iterator<Item = (String, Value)> + use<'a> {
    let begin = format!("{begin}.");
    span.attributes.iter().filter_map(move |(name, value)| {
        let name = name.strip_prefix(&begin)?;
        Some((name.to_owned(), parsed(value)))
    })
}

/// Parses an attribute: values other than strings are JSON inside a string.
fn parsed(value: &Value) -> Value {
    let read = value
        .as_str()
        .and_then(|text| serde_json::from_str(text).ok());
    read.unwrap_or_else(|| value.clone())
}

fn end(span: &Span) -> u64 {
    span.started_us.saturating_add(span.duration_us)
}

fn seconds(microseconds: u64) -> f64 {
    std::time::Duration::from_micros(microseconds).as_secs_f64()
}

/// Converts a time in microseconds since 1970 to Langfuse's format.
fn time(microseconds: u64) -> String {
    let microseconds = i64::try_from(microseconds).unwrap_or(i64::MAX);
    let time = jiff::Timestamp::from_microsecond(microseconds).unwrap_or_default();
    format!("{time:.3}")
}
