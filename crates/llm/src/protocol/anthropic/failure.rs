//! Classification of Anthropic errors.

use quillet_core::chat::{ModelError, ModelErrorKind};
use serde_json::Value;

use crate::protocol::ProviderError;

/// Converts an unsuccessful response.
pub(super) fn refusal(status: u16, body: &str) -> ProviderError {
    let parsed: Value = serde_json::from_str(body).unwrap_or_default();
    let error = parsed.get("error").unwrap_or(&Value::Null);
    let code = text(error, "type");
    let message = text(error, "message").unwrap_or_else(|| body.trim().to_owned());
    ProviderError {
        kind: kind(code.as_deref().unwrap_or_default(), Some(status), &message),
        message,
        code,
        retry_after: None,
    }
}

/// Converts an error inside a successful response, given as the complete event or body.
pub(super) fn in_answer(event: &Value) -> ModelError {
    let error = event.get("error").unwrap_or(&Value::Null);
    let code = text(error, "type");
    let message = text(error, "message").unwrap_or_else(|| error.to_string());
    let kind = kind(code.as_deref().unwrap_or_default(), None, &message);
    ModelError {
        provider_code: code,
        request_id: text(event, "request_id"),
        ..ModelError::new(kind, message)
    }
}

fn text(value: &Value, key: &str) -> Option<String> {
    value.get(key)?.as_str().map(str::to_owned)
}

/// Classifies by the provider's type, then by the status. The message decides only if one type
/// covers several failures.
fn kind(code: &str, status: Option<u16>, message: &str) -> ModelErrorKind {
    match (code, status.unwrap_or_default()) {
        ("invalid_request_error", _) => invalid_request(message),
        ("authentication_error", _) => ModelErrorKind::Auth,
        ("billing_error", _) => ModelErrorKind::Quota,
        ("permission_error", _) => ModelErrorKind::Forbidden,
        ("not_found_error", _) => not_found(message),
        // The body is too large for the service, so a shorter conversation helps.
        ("request_too_large", _) => ModelErrorKind::ContextLength,
        ("rate_limit_error", _) => ModelErrorKind::RateLimited,
        ("timeout_error", _) => ModelErrorKind::Timeout,
        ("overloaded_error", _) => ModelErrorKind::Overloaded,
        (_, 400) => invalid_request(message),
        (_, 401) => ModelErrorKind::Auth,
        (_, 402) => ModelErrorKind::Quota,
        (_, 403) => ModelErrorKind::Forbidden,
        (_, 404) => not_found(message),
        (_, 408 | 504) => ModelErrorKind::Timeout,
        (_, 413) => ModelErrorKind::ContextLength,
        (_, 429) => ModelErrorKind::RateLimited,
        (_, 529) => ModelErrorKind::Overloaded,
        // A conflict is transient, like a failure of the provider.
        (_, 409) => ModelErrorKind::Provider,
        (_, 300..=499) => ModelErrorKind::Refused,
        _ => ModelErrorKind::Provider,
    }
}

fn invalid_request(message: &str) -> ModelErrorKind {
    let has = |words: &[&str]| words.iter().any(|word| message.contains(word));
    if has(&["prompt is too long", "context limit", "context window"]) {
        return ModelErrorKind::ContextLength;
    }
    if has(&["credit balance is too low", "API usage limits"]) {
        return ModelErrorKind::Quota;
    }
    ModelErrorKind::Refused
}

/// An invalid path has the same error type as an unknown model.
fn not_found(message: &str) -> ModelErrorKind {
    if message.contains("model") {
        ModelErrorKind::ModelNotFound
    } else {
        ModelErrorKind::Refused
    }
}
