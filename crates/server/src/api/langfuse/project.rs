//! The project that Langfuse's clients request for their API key.

use axum::response::Response;
use serde_json::json;

use super::answer::PROJECT;
use crate::api::json_body;
use crate::error::ApiError;
use crate::request_context::RequestContext;

/// Returns the project. Clients request it to verify their keys.
pub(super) async fn projects(_: RequestContext) -> Result<Response, ApiError> {
    let organization = json!({"id": PROJECT, "name": PROJECT});
    json_body(&json!({"data": [{
        "id": PROJECT,
        "name": PROJECT,
        "organization": organization,
        "metadata": {},
    }]}))
}

/// Returns the status of the service.
pub(super) async fn health(_: RequestContext) -> Result<Response, ApiError> {
    json_body(&json!({"status": "OK", "version": env!("CARGO_PKG_VERSION")}))
}
