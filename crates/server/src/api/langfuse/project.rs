//! What Langfuse's clients ask of the project that their keys are for.

use axum::response::Response;
use serde_json::json;

use super::answer::PROJECT;
use crate::api::json;
use crate::error::ApiError;
use crate::request_context::RequestContext;

/// Returns the project. Clients request it to verify their keys.
pub(super) async fn projects(_: RequestContext) -> Result<Response, ApiError> {
    let organization = json!({"id": PROJECT, "name": PROJECT});
    json(&json!({"data": [{
        "id": PROJECT,
        "name": PROJECT,
        "organization": organization,
        "metadata": {},
    }]}))
}

/// Whether the service answers.
pub(super) async fn health(_: RequestContext) -> Result<Response, ApiError> {
    json(&json!({"status": "OK", "version": env!("CARGO_PKG_VERSION")}))
}
