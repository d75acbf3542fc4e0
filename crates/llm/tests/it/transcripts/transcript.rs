//! `NAME.sse` with `NAME.expected.json`: an answer of a provider and the expected result.

use std::fs;
use std::path::Path;

use quillet_core::chat::{ModelError, ModelErrorKind as Kind};
use quillet_core::{NativeTurn, ToolCall};
use quillet_llm::Protocol;
use serde_json::{Value, json};

use super::{Read, Report};

/// Tests one transcript with every way to split it.
pub fn run(path: &Path, report: &mut Report) -> Result<(), String> {
    let shown = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let body = fs::read(path).map_err(|error| shown(&error))?;
    let beside = path.with_extension("expected.json");
    let expected = fs::read_to_string(&beside).map_err(|error| shown(&error))?;
    let expected: Value = serde_json::from_str(&expected).map_err(|error| shown(&error))?;
    let provider = expected["provider"].as_str().unwrap_or_default();
    let name = format!("{provider}/{}", expected["name"].as_str().unwrap_or("?"));
    let Some(wire) = super::wire(provider) else {
        report.note(name, vec![format!("there is no wire {provider:?}")]);
        return Ok(());
    };
    let mut differences = Vec::new();
    for (way, sizes) in super::ways(body.len()) {
        let read = read(&*wire, &expected, &body, &sizes);
        for difference in differences_of(&expected, &read) {
            differences.push(format!("{way}: {difference}"));
        }
    }
    report.note(name, differences);
    Ok(())
}

fn read(wire: &dyn Protocol, expected: &Value, body: &[u8], sizes: &[usize]) -> Read {
    let status = expected["transport"]["status"].as_u64().unwrap_or(200);
    let status = u16::try_from(status).unwrap_or(500);
    if status == 200 {
        return super::read(wire, "model", body, sizes);
    }
    let refusal = wire.refusal(status, &String::from_utf8_lossy(body));
    let header = &expected["transport"]["headers"]["retry-after"];
    let seconds = header.as_str().and_then(|text| text.parse().ok());
    Read {
        error: Some(ModelError {
            status: Some(status),
            retry_after: seconds
                .map(std::time::Duration::from_secs)
                .or(refusal.retry_after),
            ..ModelError::new(refusal.kind, refusal.message)
        }),
        ..Read::default()
    }
}

/// Returns the differences from the expected result.
pub fn differences_of(expected: &Value, read: &Read) -> Vec<String> {
    let mut differences = Vec::new();
    let mut same = |what: &str, wanted: Value, found: Value| {
        if wanted != found {
            differences.push(format!("{what}: expected {wanted}, found {found}"));
        }
    };
    let last = &expected["final"];
    let choice = read.reply.choices.first().cloned().unwrap_or_default();
    same("text", last["text"].clone(), json!(choice.text));
    same(
        "reasoning",
        last["reasoning"].clone(),
        json!(choice.reasoning),
    );
    let refusal = last["refusal"].as_str().unwrap_or_default();
    same("refusal", json!(refusal), json!(choice.refusal));
    same("runs", runs_of(&expected["events"]), json!(read.runs));
    same("usage", usage_of(&last["usage"]), found_usage(read));
    match (last["error"].as_object(), &read.error) {
        (None, None) => {
            same(
                "stop_reason",
                last["stop_reason"].clone(),
                json!(choice.finish_reason),
            );
            let raw = last["stop_reason_raw"].clone();
            same("stop_reason_raw", raw, json!(choice.finish_raw));
        }
        (None, Some(error)) => same("error", Value::Null, json!(error.to_string())),
        (Some(_), None) => same("error", last["error"].clone(), Value::Null),
        (Some(_), Some(error)) => {
            same_error(&last["error"], error, &mut same);
            // A request is not retried after a part of its answer was emitted.
            if let Some(retryable) = last["error"]["retryable"].as_bool() {
                let found = error.kind.retryable() && read.runs.is_empty();
                same("retryable", json!(retryable), json!(found));
            }
        }
    }
    same_calls(&last["tool_calls"], &choice.tool_calls, &mut same);
    let state = last["provider_state"].as_array();
    for piece in state.into_iter().flatten() {
        // Gemini sends a signature as a member of its part.
        let piece = &match piece["type"].as_str() {
            Some("thought_signature") => json!({"thoughtSignature": piece["value"]}),
            _ => piece.clone(),
        };
        if !holds(choice.native.as_ref(), piece) {
            same("provider_state", piece.clone(), json!(choice.native));
        }
    }
    differences
}

/// Joins consecutive events of one kind; calls are compared separately.
fn runs_of(events: &Value) -> Value {
    let mut runs: Vec<(String, String)> = Vec::new();
    for event in events.as_array().into_iter().flatten() {
        let kind = event["type"].as_str().unwrap_or_default();
        let text = event["text"].as_str().unwrap_or_default();
        match runs.last_mut() {
            _ if !matches!(kind, "text" | "reasoning" | "refusal") => {}
            Some((last, all)) if last == kind => all.push_str(text),
            _ => runs.push((kind.to_owned(), text.to_owned())),
        }
    }
    json!(runs)
}

const COUNTS: [&str; 6] = [
    "input_tokens",
    "output_tokens",
    "total_tokens",
    "reasoning_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
];

fn usage_of(usage: &Value) -> Value {
    let Some(usage) = usage.as_object() else {
        return Value::Null;
    };
    let count = |name: &&str| usage.get(*name).cloned().unwrap_or(json!(0));
    COUNTS.iter().map(count).collect()
}

fn found_usage(read: &Read) -> Value {
    let counts = read.reply.usage.map(|usage| {
        [
            usage.input_tokens,
            usage.output_tokens,
            usage.total_tokens(),
            usage.reasoning_tokens,
            usage.cache_read_tokens,
            usage.cache_write_tokens,
        ]
    });
    json!(counts)
}

fn same_calls(expected: &Value, calls: &[ToolCall], same: &mut impl FnMut(&str, Value, Value)) {
    let expected = expected.as_array().cloned().unwrap_or_default();
    same("calls", json!(expected.len()), json!(calls.len()));
    for (call, wanted) in calls.iter().zip(&expected) {
        same("name", wanted["name"].clone(), json!(call.name));
        match wanted["id"].as_str() {
            Some(id) => same("id", json!(id), json!(call.id)),
            // The provider sent no id, so any unique one is correct.
            None => {
                let alike = calls.iter().filter(|other| other.id == call.id).count();
                same("calls with its id", json!(1), json!(alike));
                same("an id", json!(true), json!(!call.id.is_empty()));
            }
        }
        match wanted["arguments_raw"].as_str() {
            Some(raw) => {
                same("cut arguments", json!(raw), json!(call.arguments));
                same(
                    "whole",
                    json!(false),
                    json!(call.arguments_object().is_some()),
                );
            }
            None => {
                let found = call.arguments_object().map(Value::Object);
                same("arguments", wanted["arguments"].clone(), json!(found));
            }
        }
    }
}

fn same_error(expected: &Value, error: &ModelError, same: &mut impl FnMut(&str, Value, Value)) {
    let found = match error.kind {
        Kind::Protocol => "protocol",
        Kind::Refused => "invalid_request",
        kind => kind.event_code().as_str(),
    };
    same("error kind", expected["kind"].clone(), json!(found));
    if let Some(part) = expected["message_contains"].as_str() {
        let has = error.message.contains(part);
        same(&format!("message with {part:?}"), json!(true), json!(has));
    }
    if let Some(status) = expected["http_status"].as_u64() {
        same("http_status", json!(status), json!(error.status));
    }
    if let Some(seconds) = expected["retry_after_s"].as_f64() {
        let wait = error.retry_after.map(|wait| wait.as_secs_f64());
        same("retry_after_s", json!(seconds), json!(wait));
    }
}

/// Whether the native turn contains this value, possibly with other members.
fn holds(native: Option<&NativeTurn>, piece: &Value) -> bool {
    fn contains(there: &Value, piece: &Value) -> bool {
        let here = match (there, piece) {
            (Value::Object(there), Value::Object(piece)) => piece
                .iter()
                .all(|(key, value)| there.get(key).is_some_and(|found| contains(found, value))),
            _ => there == piece,
        };
        here || match there {
            Value::Array(items) => items.iter().any(|item| contains(item, piece)),
            Value::Object(members) => members.values().any(|member| contains(member, piece)),
            _ => false,
        }
    }
    native.is_some_and(|native| contains(&native.content, piece))
}
