//! Answers to requests that do not get a run. Their bodies have Chat Shell's shape,
//! `{"error": {"code", "message", "details"}}`.

use std::time::Duration;

use axum::body::Body;
use axum::http::header::{CONTENT_TYPE, RETRY_AFTER};
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use quillet_host::agent::Refused;
use serde::Serialize;
use serde_json::{Value, json};

use super::events::Failure;

/// A JSON answer with this status.
pub(super) fn answer(status: StatusCode, body: &impl Serialize) -> Response {
    let bytes = serde_json::to_vec(body).unwrap_or_default();
    let mut response = Response::new(Body::from(bytes));
    *response.status_mut() = status;
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

/// What is wrong with a request.
pub(super) fn unprocessable(body: &Value) -> Response {
    answer(StatusCode::UNPROCESSABLE_ENTITY, body)
}

/// `{"error": {"code", "message", "details"}}`.
pub(super) fn error(
    status: StatusCode,
    code: &str,
    message: &str,
    retry_after: Option<Duration>,
) -> Response {
    let body = json!({"error": {"code": code, "message": message, "details": {
        "retry_after_s": retry_after.map(|time| time.as_secs_f64()),
        "retryable": retry_after.is_some(),
    }}});
    let mut response = answer(status, &body);
    say_when(&mut response, retry_after);
    response
}

/// A run that does not begin.
pub(super) fn refused(refused: &Refused) -> Response {
    let status = match refused {
        Refused::Busy { .. } | Refused::Limit(_) => StatusCode::TOO_MANY_REQUESTS,
        Refused::Running(_) => StatusCode::CONFLICT,
        Refused::Store(_) => StatusCode::SERVICE_UNAVAILABLE,
    };
    error(
        status,
        refused.code(),
        &refused.to_string(),
        refused.retry_after(),
    )
}

/// A run that failed, for clients that do not stream.
pub(super) fn failed(failure: &Failure) -> Response {
    let mut response = answer(status(failure.code), &json!({"error": failure}));
    let wait = failure.details.retry_after_s;
    say_when(
        &mut response,
        wait.and_then(|s| Duration::try_from_secs_f64(s).ok()),
    );
    response
}

/// The HTTP status of a failed run. The codes are those of `response.error`.
fn status(code: &str) -> StatusCode {
    match code {
        "invalid_request" | "context_length" | "content_filter" => StatusCode::BAD_REQUEST,
        "auth" => StatusCode::UNAUTHORIZED,
        "forbidden" => StatusCode::FORBIDDEN,
        "model_not_found" => StatusCode::NOT_FOUND,
        "rate_limit" | "quota" => StatusCode::TOO_MANY_REQUESTS,
        "overloaded" => StatusCode::SERVICE_UNAVAILABLE,
        "timeout" => StatusCode::GATEWAY_TIMEOUT,
        "cancelled" => StatusCode::CONFLICT,
        "server_error" | "network" | "stream_truncated" | "malformed_tool_call" | "tool_error" => {
            StatusCode::BAD_GATEWAY
        }
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// Whole seconds, rounded up: a client that is told 0 comes back at once.
fn say_when(response: &mut Response, time: Option<Duration>) {
    if let Some(time) = time {
        let seconds = time.as_millis().div_ceil(1000).clamp(1, 86_400);
        let seconds = HeaderValue::from(seconds as u64);
        response.headers_mut().insert(RETRY_AFTER, seconds);
    }
}
