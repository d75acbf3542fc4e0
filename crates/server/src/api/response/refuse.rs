//! Error responses of requests that do not start a run. Their bodies have Chat Shell's format,
//! `{"error": {"code", "message", "details"}}`.

use std::time::Duration;

use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use quillet_core::ErrorCode;
use quillet_host::agent::AdmissionError;
use serde::Serialize;
use serde_json::{Value, json};

use super::events::ResponseError;
use crate::error::set_retry_after;

/// Returns a JSON response with this status.
pub(super) fn answer(status: u16, body: &impl Serialize) -> Response {
    let bytes = serde_json::to_vec(body).unwrap_or_default();
    let mut response = Response::new(Body::from(bytes));
    let status = StatusCode::from_u16(status);
    *response.status_mut() = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

/// Returns the response to an invalid request.
pub(super) fn unprocessable(body: &Value) -> Response {
    answer(422, body)
}

/// Returns an error response: `{"error": {"code", "message", "details"}}`.
pub(super) fn error(
    status: u16,
    code: ErrorCode,
    message: &str,
    retry_after: Option<Duration>,
) -> Response {
    let body = json!({"error": {"code": code, "message": message, "details": {
        "retry_after_s": retry_after.map(|time| time.as_secs_f64()),
        "retryable": retry_after.is_some(),
    }}});
    let mut response = answer(status, &body);
    // The body has fractions of seconds; the header has whole seconds.
    set_retry_after(&mut response, retry_after);
    response
}

/// Returns the response for a run that was not admitted.
pub(super) fn refused(refused: &AdmissionError) -> Response {
    let (status, code) = (refused.code().status(), refused.event_code());
    error(status, code, &refused.to_string(), refused.retry_after())
}

/// Returns the response for a failed run, for clients that do not stream.
pub(super) fn failed(failure: &ResponseError) -> Response {
    let mut response = answer(failure.code.status(), &json!({"error": failure}));
    let wait = failure.details.retry_after_s;
    set_retry_after(
        &mut response,
        wait.and_then(|s| Duration::try_from_secs_f64(s).ok()),
    );
    response
}
