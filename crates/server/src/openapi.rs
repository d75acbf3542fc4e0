//! The route of the OpenAPI document, which the console displays.

use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};

use crate::request_context::RequestContext;

/// Returns this document
#[utoipa::path(get, path = "/openapi.json", tag = "operation", responses(
    (status = 200, content_type = "application/json", description = "OpenAPI 3.1"),
))]
pub(crate) async fn document(call: RequestContext) -> Response {
    let kind = [(CONTENT_TYPE, "application/json")];
    (kind, call.app.openapi().to_owned()).into_response()
}
