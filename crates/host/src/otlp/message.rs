//! `ExportTraceServiceRequest` in OTLP's JSON form (opentelemetry-proto 1.x): ids in
//! hexadecimal, 64-bit integers as strings, enums as numbers.

use std::sync::Arc;

use quillet_core::trace::{Span, SpanKind, Trace};
use serde::Serialize;
use serde_json::{Map, Value, json};

/// Resource of the spans, with the attributes of this process.
pub(super) struct Resource(Vec<Value>);

impl Resource {
    pub(super) fn new(service: &str, attributes: &[(String, String)]) -> Self {
        let own = [
            ("service.name", service),
            ("service.version", env!("CARGO_PKG_VERSION")),
        ];
        let given = attributes
            .iter()
            .map(|(key, value)| (key.as_str(), value.as_str()));
        let attribute = |(key, value)| json!({"key": key, "value": {"stringValue": value}});
        Resource(own.into_iter().chain(given).map(attribute).collect())
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WireSpan<'a> {
    trace_id: &'a str,
    span_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_span_id: Option<&'a str>,
    name: &'a str,
    kind: u8,
    start_time_unix_nano: String,
    end_time_unix_nano: String,
    attributes: Vec<Value>,
    status: Value,
}

/// The body of a request.
pub(super) fn write(resource: &Resource, traces: &[Arc<Trace>]) -> serde_json::Result<Vec<u8>> {
    let spans = traces
        .iter()
        .flat_map(|trace| trace.spans.iter().map(|span| wire(&trace.id, span)));
    let spans: Vec<WireSpan<'_>> = spans.collect();
    serde_json::to_vec(&json!({"resourceSpans": [{
        "resource": {"attributes": resource.0},
        "scopeSpans": [{
            "scope": {"name": "quillet", "version": env!("CARGO_PKG_VERSION")},
            "spans": spans,
        }],
    }]}))
}

fn wire<'a>(trace: &'a str, span: &'a Span) -> WireSpan<'a> {
    let nanoseconds = |us: u64| (u128::from(us) * 1000).to_string();
    WireSpan {
        trace_id: trace,
        span_id: &span.id,
        parent_span_id: span.parent.as_deref(),
        name: &span.name,
        kind: kind(span),
        start_time_unix_nano: nanoseconds(span.started_us),
        end_time_unix_nano: nanoseconds(span.started_us.saturating_add(span.duration_us)),
        attributes: attributes(&span.attributes),
        status: match &span.error {
            None => json!({}),
            // The code 2 is `STATUS_CODE_ERROR`.
            Some(error) => json!({"code": 2, "message": error}),
        },
    }
}

/// Span kind: 1 is internal, 2 server, 3 client. Model calls leave the process; runs serve a
/// request.
fn kind(span: &Span) -> u8 {
    match span.kind {
        SpanKind::Model => 3,
        SpanKind::Run if span.parent.is_none() => 2,
        SpanKind::Run | SpanKind::Render | SpanKind::Tool | SpanKind::Step => 1,
    }
}

fn attributes(attributes: &Map<String, Value>) -> Vec<Value> {
    let written = |(key, value): (&String, &Value)| json!({"key": key, "value": any(value)});
    attributes.iter().map(written).collect()
}

/// `AnyValue`. Nested values are sent as JSON text, which trace viewers display better.
fn any(value: &Value) -> Value {
    match value {
        Value::String(text) => json!({"stringValue": text}),
        Value::Bool(flag) => json!({"boolValue": flag}),
        Value::Number(number) if number.is_f64() => json!({"doubleValue": number}),
        Value::Number(number) => json!({"intValue": number.to_string()}),
        Value::Array(items)
            if items
                .iter()
                .all(|item| !item.is_object() && !item.is_array()) =>
        {
            let items: Vec<Value> = items.iter().map(any).collect();
            json!({"arrayValue": {"values": items}})
        }
        // OTLP has no null; an `AnyValue` without a member is the empty value.
        Value::Null => json!({}),
        nested => json!({"stringValue": nested.to_string()}),
    }
}
