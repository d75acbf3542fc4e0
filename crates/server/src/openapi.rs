//! The OpenAPI document. A view of the console shows it.

use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};

use crate::request_context::RequestContext;

/// This document.
#[utoipa::path(get, path = "/openapi.json", tag = "operation", responses(
    (status = 200, content_type = "application/json", description = "OpenAPI 3.1"),
))]
pub(crate) async fn document(call: RequestContext) -> Response {
    let kind = [(CONTENT_TYPE, "application/json")];
    (kind, call.app.openapi().to_owned()).into_response()
}
