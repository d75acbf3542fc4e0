//! Error responses of each provider.

use std::time::Duration;

use serde_json::{Value, json};

use crate::content_type::json_type;
use crate::fault::ErrorResponse;
use crate::provider_api::ProviderApi;
use crate::request::RecordedRequest;

const HTML: &str = "<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>";

type RawResponse = (u16, Vec<(String, String)>, String);

pub(super) fn refuse(
    wire: ProviderApi,
    refusal: &ErrorResponse,
    asked: &RecordedRequest,
) -> RawResponse {
    let content_type = |value: &str| vec![("content-type".to_owned(), value.to_owned())];
    match refusal {
        ErrorResponse::Html => return (502, content_type("text/html"), HTML.to_owned()),
        ErrorResponse::Other {
            status,
            content_type: kind,
            body,
        } => return (*status, content_type(kind), body.clone()),
        _ => {}
    }
    let (status, body) = match wire {
        ProviderApi::OpenAiChat | ProviderApi::OpenAiResponses => openai(refusal, asked),
        ProviderApi::Anthropic => anthropic(refusal, asked),
        ProviderApi::Gemini => gemini(refusal, asked),
    };
    let mut headers = vec![json_type()];
    match refusal {
        ErrorResponse::RateLimited(Some(wait)) if wire != ProviderApi::Gemini => {
            headers.extend(retry(*wait))
        }
        _ => {}
    }
    let id = match wire {
        ProviderApi::Anthropic => "request-id",
        _ => "x-request-id",
    };
    headers.push((id.to_owned(), "req_2".to_owned()));
    (status, headers, body.to_string())
}

/// Returns the headers with the delay: `Retry-After` in whole seconds, and OpenAI's header for
/// fractions of a second.
fn retry(wait: Duration) -> [(String, String); 1] {
    match wait.subsec_millis() {
        0 => [("retry-after".to_owned(), wait.as_secs().to_string())],
        _ => [("retry-after-ms".to_owned(), wait.as_millis().to_string())],
    }
}

fn openai(refusal: &ErrorResponse, asked: &RecordedRequest) -> (u16, Value) {
    let model = &asked.model;
    let key = asked.key.as_deref().unwrap_or_default();
    let (status, message, kind, code) = match refusal {
        ErrorResponse::RateLimited(_) => (
            429,
            format!("Rate limit reached for {model} in organization org-x on tokens per min. Please try again in 1.2s."),
            "tokens",
            Some("rate_limit_exceeded"),
        ),
        ErrorResponse::Quota => (
            429,
            "You exceeded your current quota, please check your plan and billing details.".to_owned(),
            "insufficient_quota",
            Some("insufficient_quota"),
        ),
        ErrorResponse::Overloaded => (
            503,
            "The engine is currently overloaded, please try again later.".to_owned(),
            "server_error",
            Some("server_overloaded"),
        ),
        ErrorResponse::Auth => (
            401,
            format!("Incorrect API key provided: {key}. You can find your API key at https://platform.openai.com/account/api-keys."),
            "invalid_request_error",
            Some("invalid_api_key"),
        ),
        ErrorResponse::Forbidden => (
            403,
            "You are not allowed to sample from this model.".to_owned(),
            "invalid_request_error",
            None,
        ),
        ErrorResponse::NotFound => (
            404,
            format!("The model `{model}` does not exist or you do not have access to it."),
            "invalid_request_error",
            Some("model_not_found"),
        ),
        ErrorResponse::ContextLength => (
            400,
            "This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens. Please reduce the length of the messages.".to_owned(),
            "invalid_request_error",
            Some("context_length_exceeded"),
        ),
        ErrorResponse::Invalid => (
            400,
            "Invalid value for 'temperature'.".to_owned(),
            "invalid_request_error",
            Some("invalid_value"),
        ),
        _ => (
            500,
            "The server had an error while processing your request.".to_owned(),
            "server_error",
            None,
        ),
    };
    let error = json!({"message": message, "type": kind, "param": null, "code": code});
    (status, json!({"error": error}))
}

fn anthropic(refusal: &ErrorResponse, asked: &RecordedRequest) -> (u16, Value) {
    let (status, kind, message) = match refusal {
        ErrorResponse::RateLimited(_) => (
            429,
            "rate_limit_error",
            "This request would exceed your organization's rate limit.",
        ),
        ErrorResponse::Quota => (
            402,
            "billing_error",
            "Your credit balance is too low to access the Anthropic API.",
        ),
        ErrorResponse::Overloaded => (529, "overloaded_error", "Overloaded"),
        ErrorResponse::Auth => (401, "authentication_error", "invalid x-api-key"),
        ErrorResponse::Forbidden => (
            403,
            "permission_error",
            "Your API key does not have permission to use the specified resource.",
        ),
        ErrorResponse::NotFound => (404, "not_found_error", asked.model.as_str()),
        ErrorResponse::ContextLength => (
            400,
            "invalid_request_error",
            "prompt is too long: 210000 tokens > 200000 maximum",
        ),
        ErrorResponse::Invalid => (
            400,
            "invalid_request_error",
            "temperature: Input should be less than or equal to 1",
        ),
        _ => (500, "api_error", "Internal server error"),
    };
    let message = match refusal {
        ErrorResponse::NotFound => format!("model: {message}"),
        _ => message.to_owned(),
    };
    let error = json!({"type": kind, "message": message});
    (
        status,
        json!({"type": "error", "error": error, "request_id": "req_2"}),
    )
}

fn gemini(refusal: &ErrorResponse, asked: &RecordedRequest) -> (u16, Value) {
    let model = &asked.model;
    let (status, message, name) = match refusal {
        ErrorResponse::RateLimited(_) => (429, "Resource has been exhausted (e.g. check quota).".to_owned(), "RESOURCE_EXHAUSTED"),
        ErrorResponse::Quota => (429, "You exceeded your current quota, please check your plan and billing details.".to_owned(), "RESOURCE_EXHAUSTED"),
        ErrorResponse::Overloaded => (503, "The model is overloaded. Please try again later.".to_owned(), "UNAVAILABLE"),
        ErrorResponse::Auth => (400, "API key not valid. Please pass a valid API key.".to_owned(), "INVALID_ARGUMENT"),
        ErrorResponse::Forbidden => (403, "The caller does not have permission".to_owned(), "PERMISSION_DENIED"),
        ErrorResponse::NotFound => (404, format!("models/{model} is not found for API version v1beta, or is not supported for generateContent."), "NOT_FOUND"),
        ErrorResponse::ContextLength => (400, "The input token count (1100000) exceeds the maximum number of tokens allowed (1048576).".to_owned(), "INVALID_ARGUMENT"),
        ErrorResponse::Invalid => (400, "Invalid value at 'generation_config.temperature'".to_owned(), "INVALID_ARGUMENT"),
        _ => (500, "An internal error has occurred. Please retry or report in https://developers.generativeai.google/guide/troubleshooting".to_owned(), "INTERNAL"),
    };
    let mut error = json!({"code": status, "message": message, "status": name});
    if let Some(detail) = gemini_detail(refusal) {
        error["details"] = json!([detail]);
    }
    (status, json!({"error": error}))
}

fn gemini_detail(refusal: &ErrorResponse) -> Option<Value> {
    Some(match refusal {
        ErrorResponse::RateLimited(Some(wait)) => json!({
            "@type": "type.googleapis.com/google.rpc.RetryInfo",
            "retryDelay": format!("{}s", wait.as_secs_f64()),
        }),
        ErrorResponse::Quota => json!({
            "@type": "type.googleapis.com/google.rpc.QuotaFailure",
            "violations": [{
                "quotaMetric": "generativelanguage.googleapis.com/generate_content_free_tier_requests",
                "quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier",
            }],
        }),
        ErrorResponse::Auth => json!({
            "@type": "type.googleapis.com/google.rpc.ErrorInfo",
            "reason": "API_KEY_INVALID",
            "domain": "googleapis.com",
        }),
        _ => return None,
    })
}
