//! Error objects of OpenAI and compatible servers: their message in any format, and their
//! classification. The status and the provider's code take precedence over the wording of the
//! message.

use quillet_core::chat::{ModelError, ModelErrorKind as Kind};
use serde_json::Value;

use super::ProviderError;

/// Fields of an error object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ErrorFields {
    pub(crate) message: String,
    /// `code`, unless it is an HTTP status.
    pub(crate) code: Option<String>,
    /// `type`.
    pub(crate) class: Option<String>,
    /// HTTP status in `code`, as gateways send it.
    pub(crate) status: Option<u16>,
}

/// Reads `error`, an object or a text. If the object has no message, its JSON is used.
pub(crate) fn error_fields(error: &Value) -> ErrorFields {
    let text = |name: &str| {
        let value = error.get(name)?;
        let text = value.as_str().map(str::to_owned);
        text.filter(|text| !text.is_empty())
    };
    if let Some(message) = error.as_str() {
        return ErrorFields {
            message: message.to_owned(),
            ..ErrorFields::default()
        };
    }
    let code = error.get("code");
    let number = code.and_then(|code| match code {
        Value::String(text) => text.parse().ok(),
        code => code.as_u64(),
    });
    let status = number.and_then(|code| u16::try_from(code).ok());
    let status = status.filter(|code| (400..600).contains(code));
    let message = text("message").or_else(|| text("detail"));
    ErrorFields {
        // OpenRouter adds the message of the provider behind it.
        message: match error.pointer("/metadata/raw").and_then(Value::as_str) {
            Some(raw) => format!("{}: {raw}", message.unwrap_or_default()),
            None => message.unwrap_or_else(|| error.to_string()),
        },
        code: text("code").filter(|_| status.is_none()),
        class: text("type"),
        status,
    }
}

/// Returns the error in the body of an error response, if it has one.
pub(crate) fn said_in(body: &Value) -> Option<ErrorFields> {
    // Gemini's compatible endpoint wraps the object in a list.
    let body = body.get(0).unwrap_or(body);
    if let Some(error) = body.get("error").filter(|error| !error.is_null()) {
        let mut found = error_fields(error);
        let beside = |name: &str| body.get(name).and_then(Value::as_str).map(str::to_owned);
        found.code = found.code.or_else(|| beside("code"));
        return Some(found);
    }
    let has_text = ["message", "detail"]
        .iter()
        .any(|name| body.get(*name).is_some_and(Value::is_string));
    let detail = body.get("detail").filter(|detail| !detail.is_null());
    match (has_text, detail) {
        (true, _) => Some(error_fields(body)),
        (false, Some(detail)) => Some(error_fields(detail)),
        (false, None) => None,
    }
}

/// Converts an unsuccessful response.
pub(crate) fn refusal(status: u16, body: &str) -> ProviderError {
    let parsed = serde_json::from_str::<Value>(body).ok();
    let found = parsed.as_ref().and_then(said_in);
    let found = found.unwrap_or_else(|| ErrorFields {
        message: body.trim().to_owned(),
        ..ErrorFields::default()
    });
    ProviderError {
        kind: kind(Some(status), &found),
        message: found.message,
        code: found.code.or(found.class),
        retry_after: None,
    }
}

/// Converts an error inside a successful response.
pub(crate) fn inside(found: &ErrorFields) -> ModelError {
    ModelError {
        status: found.status,
        provider_code: found.code.clone().or_else(|| found.class.clone()),
        ..ModelError::new(
            kind(found.status, found),
            format!("the answer contains an error: {}", found.message),
        )
    }
}

fn kind(status: Option<u16>, found: &ErrorFields) -> Kind {
    let codes = [&found.code, &found.class];
    let code = |words: &[&str]| {
        let mut codes = codes.iter().filter_map(|code| code.as_deref());
        codes.any(|code| words.iter().any(|word| code.contains(word)))
    };
    let message = found.message.to_ascii_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| message.contains(word));
    let refused = status.is_none_or(|status| (400..500).contains(&status));
    if code(&["insufficient_quota", "billing", "quota_exceeded"]) || status == Some(402) {
        return Kind::Quota;
    }
    if code(&["context_length", "context_window", "exceed_context_size"])
        || (refused && says(&CONTEXT_WORDS))
    {
        return Kind::ContextLength;
    }
    if code(&["content_filter", "content_policy", "ResponsibleAI"]) {
        return Kind::ContentFilter;
    }
    if code(&["model_not_found", "DeploymentNotFound"])
        || (status == Some(404) && says(&["model", "deployment"]))
    {
        return Kind::ModelNotFound;
    }
    if code(&["overloaded"]) || status == Some(529) {
        return Kind::Overloaded;
    }
    if code(&["rate_limit"]) {
        return Kind::RateLimited;
    }
    if code(&["invalid_api_key", "authentication"]) {
        return Kind::Auth;
    }
    match status {
        Some(status) => kind_of_status(status, says(&["overloaded", "at capacity"])),
        None if code(&["permission"]) => Kind::Forbidden,
        None if code(&["invalid", "not_found"]) => Kind::Refused,
        None => Kind::Provider,
    }
}

/// Phrases in messages of OpenAI, vLLM, llama.cpp and Mistral for a conversation that is too long.
const CONTEXT_WORDS: [&str; 5] = [
    "maximum context length",
    "context window",
    "exceeds the available context size",
    "too large for model with",
    "prompt is too long",
];

fn kind_of_status(status: u16, is_overloaded: bool) -> Kind {
    match status {
        401 => Kind::Auth,
        403 => Kind::Forbidden,
        408 | 504 => Kind::Timeout,
        429 => Kind::RateLimited,
        503 if is_overloaded => Kind::Overloaded,
        // A conflict is transient, like a failure of the provider.
        409 | 500.. => Kind::Provider,
        _ => Kind::Refused,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_read_in_every_shape() {
        let cases = [
            (
                r#"{"error":{"message":"no","type":"t","code":null}}"#,
                "no",
                Some("t"),
            ),
            (r#"{"error":{"message":"no","code":429}}"#, "no", None),
            (
                r#"{"error":{"message":"no","code":"c","type":"t"}}"#,
                "no",
                Some("c"),
            ),
            (r#"{"error":"plain"}"#, "plain", None),
            (r#"{"error":{"x":1}}"#, r#"{"x":1}"#, None),
            (
                r#"{"message":"top","code":"3051","type":"t"}"#,
                "top",
                Some("t"),
            ),
            (r#"{"detail":"fast"}"#, "fast", None),
            (
                r#"{"detail":[{"loc":["body"]}]}"#,
                r#"[{"loc":["body"]}]"#,
                None,
            ),
            (
                r#"[{"error":{"message":"listed","status":"X"}}]"#,
                "listed",
                None,
            ),
            (
                r#"{"error":{"message":"Provider returned error","metadata":{"raw":"why"}}}"#,
                "Provider returned error: why",
                None,
            ),
            ("<html>", "<html>", None),
        ];
        for (body, message, code) in cases {
            let refusal = refusal(400, body);
            assert_eq!(refusal.message, message, "{body}");
            if code != Some("t") {
                assert_eq!(refusal.code.as_deref(), code, "{body}");
            }
        }
    }

    #[test]
    fn each_refusal_has_its_kind() {
        let error = |code: &str, message: &str| {
            serde_json::json!({"error": {"code": code, "message": message}}).to_string()
        };
        let cases = [
            (401, error("invalid_api_key", "bad"), Kind::Auth),
            (401, String::new(), Kind::Auth),
            (402, error("", "Insufficient Balance"), Kind::Quota),
            (403, error("", "no"), Kind::Forbidden),
            (
                404,
                error("model_not_found", "no such model"),
                Kind::ModelNotFound,
            ),
            (
                404,
                error("", "model \"x\" not found, try pulling it"),
                Kind::ModelNotFound,
            ),
            (404, "<html>not here</html>".into(), Kind::Refused),
            (
                400,
                error("context_length_exceeded", "long"),
                Kind::ContextLength,
            ),
            (
                400,
                error("", "This model's maximum context length is 4096 tokens"),
                Kind::ContextLength,
            ),
            (400, error("content_filter", "no"), Kind::ContentFilter),
            (400, error("", "no"), Kind::Refused),
            (408, String::new(), Kind::Timeout),
            (409, String::new(), Kind::Provider),
            (422, String::new(), Kind::Refused),
            (
                429,
                error("rate_limit_exceeded", "slow down"),
                Kind::RateLimited,
            ),
            (429, error("insufficient_quota", "pay"), Kind::Quota),
            (500, String::new(), Kind::Provider),
            (503, error("", "The model is overloaded"), Kind::Overloaded),
            (503, error("", "maintenance"), Kind::Provider),
            (529, String::new(), Kind::Overloaded),
        ];
        for (status, body, expected) in cases {
            assert_eq!(refusal(status, &body).kind, expected, "{status} {body}");
        }
    }
}
