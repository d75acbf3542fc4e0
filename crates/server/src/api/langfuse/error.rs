//! Errors in Langfuse's format: `{"message", "error"}`, where `error` is the kind of the error or
//! the list of invalid members.

use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use quillet_core::ErrorCode;
use serde_json::{Value, json};

use crate::error::ApiError;

/// Returns the error response.
pub(crate) fn answer(error: &ApiError) -> Response {
    let status = StatusCode::from_u16(error.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let body = body(error).to_string();
    let json = [(CONTENT_TYPE, "application/json")];
    let mut response = (status, json, body).into_response();
    error.set_retry_headers(&mut response);
    response
}

fn body(error: &ApiError) -> Value {
    if let (ErrorCode::DoorRequest, Some(member)) = (error.code(), error.param()) {
        let issue = json!({"code": "custom", "path": [member], "message": error.message()});
        return json!({"message": "Invalid request data", "error": [issue]});
    }
    let hint = error.hint_text().map(|hint| format!(" ({hint})"));
    let message = format!("{}{}", error.message(), hint.unwrap_or_default());
    json!({"message": message, "error": name(error.status())})
}

/// Returns Langfuse's name for an error status.
fn name(status: u16) -> &'static str {
    match status {
        400 => "InvalidRequestError",
        401 => "UnauthorizedError",
        403 => "ForbiddenError",
        404 => "LangfuseNotFoundError",
        405 => "MethodNotAllowedError",
        409 | 412 => "LangfuseConflictError",
        422 => "UnprocessableContentError",
        429 => "RateLimitError",
        501 => "NotImplementedError",
        503 => "ServiceUnavailableError",
        _ => "InternalServerError",
    }
}
