//! Errors in MLflow's format: `{"error_code", "message"}`.

use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use serde_json::json;

use crate::error::ApiError;

/// Returns the error response.
pub(crate) fn answer(error: &ApiError) -> Response {
    let status = StatusCode::from_u16(error.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let hint = error.hint_text().map(|hint| format!(" ({hint})"));
    let message = format!("{}{}", error.message(), hint.unwrap_or_default());
    let body = json!({"error_code": name(error.status()), "message": message}).to_string();
    let json = [(CONTENT_TYPE, "application/json")];
    let mut response = (status, json, body).into_response();
    error.set_retry_headers(&mut response);
    response
}

/// Returns MLflow's name for an error status.
fn name(status: u16) -> &'static str {
    match status {
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "RESOURCE_DOES_NOT_EXIST",
        405 => "ENDPOINT_NOT_FOUND",
        409 | 412 => "RESOURCE_CONFLICT",
        429 => "REQUEST_LIMIT_EXCEEDED",
        501 => "NOT_IMPLEMENTED",
        503 => "TEMPORARILY_UNAVAILABLE",
        400..=499 => "INVALID_PARAMETER_VALUE",
        _ => "INTERNAL_ERROR",
    }
}
