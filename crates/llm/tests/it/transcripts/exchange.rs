//! `*.jsonl`: recorded exchanges with real providers, one per line. Each answer must be decoded
//! completely, compared with a simple reading of its body ([`super::plainly`]), and each request
//! must survive decoding and encoding ([`super::sameness`]).

use std::fs;
use std::path::Path;

use quillet_core::chat::FinishReason;
use quillet_llm::Protocol;
use serde_json::{Value, json};

use super::plainly::{self, Plain};
use super::{Read, Report, sameness};

/// Tests every line of a file.
pub fn run(path: &Path, report: &mut Report) -> Result<(), String> {
    let shown = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let lines = fs::read_to_string(path).map_err(|error| shown(&error))?;
    let name = path.file_stem().and_then(|stem| stem.to_str());
    let name = name.unwrap_or_default();
    let Some(wire) = super::wire(name) else {
        report.note(name.to_owned(), vec![format!("there is no wire {name:?}")]);
        return Ok(());
    };
    for line in lines.lines() {
        let exchange: Value = serde_json::from_str(line).map_err(|error| shown(&error))?;
        let id = exchange["id"].as_str().unwrap_or("?").to_owned();
        let mut differences = answer(&*wire, &exchange);
        differences.extend(request(&*wire, &exchange));
        report.note(format!("{name}:{id}"), differences);
    }
    Ok(())
}

fn answer(wire: &dyn Protocol, exchange: &Value) -> Vec<String> {
    let response = &exchange["response"];
    let body = response["body"].as_str().unwrap_or_default();
    let status = response["status"].as_u64().unwrap_or(0);
    if status != 200 {
        return refusal(wire, status, body);
    }
    let read = super::read(wire, "model", body.as_bytes(), &[1009]);
    let plain = plainly::read(wire.name(), body);
    differences(&plain, &read)
}

/// An error has the kind of its status, and contains the provider's message.
fn refusal(wire: &dyn Protocol, status: u64, body: &str) -> Vec<String> {
    let refusal = wire.refusal(u16::try_from(status).unwrap_or(500), body);
    let is_passing = status >= 500 || matches!(status, 408 | 409 | 429);
    let mut differences = Vec::new();
    if refusal.kind.retryable() != is_passing {
        differences.push(format!("{status} is {:?}", refusal.kind));
    }
    let parsed: Value = serde_json::from_str(body).unwrap_or_default();
    let message = parsed.pointer("/error/message").or(parsed.get("message"));
    let message = message.and_then(Value::as_str).unwrap_or_default();
    if !refusal.message.contains(message) {
        differences.push(format!("{:?} is not {message:?}", refusal.message));
    }
    differences
}

fn differences(plain: &Plain, read: &Read) -> Vec<String> {
    let mut differences = Vec::new();
    let mut same = |what: &str, wanted: Value, found: Value| {
        if wanted != found {
            differences.push(format!("{what}: expected {wanted}, found {found}"));
        }
    };
    let choice = read.reply.choices.first().cloned().unwrap_or_default();
    let error = read.error.as_ref().map(ToString::to_string);
    match (&plain.error, error) {
        (Some(part), Some(error)) if error.contains(part) => {}
        (wanted, error) => same("error", json!(wanted), json!(error)),
    }
    same("text", json!(plain.text), json!(choice.text));
    same("reasoning", json!(plain.reasoning), json!(choice.reasoning));
    same("refusal", json!(plain.refusal), json!(choice.refusal));
    let calls = |calls: &[(Option<String>, String, String)]| -> Value {
        let arguments = |text: &str| match text.trim() {
            "" => json!({}),
            text => serde_json::from_str(text).unwrap_or(json!(text)),
        };
        let call = |(id, name, text): &(Option<String>, String, String)| {
            json!([id, name, arguments(text)])
        };
        calls.iter().map(call).collect()
    };
    let found: Vec<_> = choice
        .tool_calls
        .iter()
        .zip(
            plain
                .calls
                .iter()
                .map(|call| call.0.is_some())
                .chain(std::iter::repeat(true)),
        )
        // If the provider sent no id, any id is correct.
        .map(|(call, has_id)| {
            (
                has_id.then(|| call.id.clone()),
                call.name.clone(),
                call.arguments.clone(),
            )
        })
        .collect();
    same("calls", calls(&plain.calls), calls(&found));
    if plain.error.is_none() {
        same(
            "stop reason",
            json!(match plain.stop {
                Some(FinishReason::Stop) if !plain.refusal.is_empty() => {
                    Some(FinishReason::Refusal)
                }
                stop => stop,
            }),
            json!(choice.finish_reason),
        );
    }
    let usage = read.reply.usage.map(|usage| {
        [
            usage.input_tokens,
            usage.output_tokens,
            usage.reasoning_tokens,
            usage.cache_read_tokens,
            usage.cache_write_tokens,
        ]
    });
    same("usage", json!(plain.usage), json!(usage));
    let native = choice.native.map(|native| native.content);
    let native = native.as_ref().and_then(Value::as_array);
    let native = native.map(Vec::as_slice).unwrap_or_default();
    let lost = plain.kept.iter().find(|kept| !native.contains(kept));
    same("kept", Value::Null, json!(lost));
    differences
}

fn request(wire: &dyn Protocol, exchange: &Value) -> Vec<String> {
    let text = exchange["request"]["body"].as_str().unwrap_or_default();
    let body: Value = serde_json::from_str(text).unwrap_or_default();
    let refused = exchange["response"]["status"].as_u64() != Some(200);
    let request = match wire.read(&body) {
        Ok(request) => request,
        // The request may be rejected if the provider also rejected it.
        Err(_) if refused => return Vec::new(),
        Err(error) => return vec![format!("request: {error}")],
    };
    let model = request.model.clone().unwrap_or_default();
    match wire.write(&model, &request) {
        Ok(written) => sameness::differences(wire.name(), &body, &written),
        Err(error) => vec![format!("request: {error}")],
    }
}
