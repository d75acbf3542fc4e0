//! Classification of Google errors.

use std::time::Duration;

use quillet_core::chat::{ModelError, ModelErrorKind};
use serde_json::Value;

use crate::protocol::ProviderError;

/// Converts an unsuccessful response. Streams wrap the error in a list.
pub(super) fn refusal(status: u16, body: &str) -> ProviderError {
    let parsed: Value = serde_json::from_str(body).unwrap_or_default();
    let parsed = parsed.get(0).unwrap_or(&parsed);
    match parsed.get("error") {
        Some(error) => read(error, status),
        None => ProviderError {
            kind: kind_of_status(status, body),
            message: body.trim().to_owned(),
            code: None,
            retry_after: None,
        },
    }
}

/// Converts an error inside a successful response.
pub(super) fn in_answer(error: &Value) -> ModelError {
    let refusal = read(error, 500);
    ModelError {
        provider_code: refusal.code,
        retry_after: refusal.retry_after,
        ..ModelError::new(refusal.kind, refusal.message)
    }
}

fn read(error: &Value, status: u16) -> ProviderError {
    let code = error.get("status").and_then(Value::as_str);
    let own_status = error.get("code").and_then(Value::as_u64);
    let status = own_status
        .and_then(|code| u16::try_from(code).ok())
        .unwrap_or(status);
    let message = error.get("message").and_then(Value::as_str);
    let message = message.map_or_else(|| error.to_string(), str::to_owned);
    let details = error.get("details").and_then(Value::as_array);
    let details = details.map(Vec::as_slice).unwrap_or_default();
    ProviderError {
        kind: kind(code.unwrap_or_default(), status, &message, details),
        message,
        code: code.map(str::to_owned),
        retry_after: details.iter().find_map(retry_delay),
    }
}

/// Returns the wait time in `RetryInfo`: `"17s"`, `"0.5s"`.
fn retry_delay(detail: &Value) -> Option<Duration> {
    let delay = detail.get("retryDelay")?.as_str()?;
    let seconds = delay.strip_suffix('s')?.parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}

fn kind(code: &str, status: u16, message: &str, details: &[Value]) -> ModelErrorKind {
    let says = |word: &str| {
        details
            .iter()
            .any(|detail| detail.to_string().contains(word))
    };
    match code {
        // A daily quota is not replenished soon enough for a retry.
        "RESOURCE_EXHAUSTED" if says("PerDay") => ModelErrorKind::Quota,
        "RESOURCE_EXHAUSTED" => ModelErrorKind::RateLimited,
        "UNAUTHENTICATED" => ModelErrorKind::Auth,
        "PERMISSION_DENIED" => ModelErrorKind::Forbidden,
        "NOT_FOUND" => ModelErrorKind::ModelNotFound,
        "DEADLINE_EXCEEDED" => ModelErrorKind::Timeout,
        "UNAVAILABLE" => ModelErrorKind::Overloaded,
        "INVALID_ARGUMENT" if says("API_KEY_INVALID") => ModelErrorKind::Auth,
        _ => kind_of_status(status, message),
    }
}

fn kind_of_status(status: u16, message: &str) -> ModelErrorKind {
    match status {
        400 => invalid(message),
        401 => ModelErrorKind::Auth,
        402 => ModelErrorKind::Quota,
        403 => ModelErrorKind::Forbidden,
        404 => ModelErrorKind::ModelNotFound,
        408 | 504 => ModelErrorKind::Timeout,
        429 => ModelErrorKind::RateLimited,
        503 => ModelErrorKind::Overloaded,
        // A conflict is transient, like a failure of the provider.
        409 => ModelErrorKind::Provider,
        300..=498 => ModelErrorKind::Refused,
        _ => ModelErrorKind::Provider,
    }
}

/// One code covers several failures, so the message decides.
fn invalid(message: &str) -> ModelErrorKind {
    let has = |words: &[&str]| words.iter().any(|word| message.contains(word));
    if has(&["exceeds the maximum number of tokens", "token count"]) {
        return ModelErrorKind::ContextLength;
    }
    if has(&["API key", "API Key"]) {
        return ModelErrorKind::Auth;
    }
    if has(&["billing"]) {
        return ModelErrorKind::Quota;
    }
    if has(&["location is not supported"]) {
        return ModelErrorKind::Forbidden;
    }
    ModelErrorKind::Refused
}
