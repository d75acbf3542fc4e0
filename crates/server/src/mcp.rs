//! The MCP route. [`quillet_host::StoredOffer`] defines its prompts and tools.

use axum::body::Body;
use axum::extract::Request;
use axum::http::header::CONTENT_TYPE;
use axum::response::Response;
use http_body_util::BodyExt;
use hyper::body::Body as _;
use quillet_core::ErrorCode;
use quillet_prompt::ServiceError;
use quillet_tools::serve::AVAILABLE;

use crate::api::body::large;
use crate::error::{ApiError, ProblemDetails, problem};
use crate::request_context::RequestContext;

/// Handles a message of the Model Context Protocol (streamable HTTP; revisions from 2024-11-05 on)
///
/// Stored prompts are offered as prompts, and prompts and tools as tools.
#[utoipa::path(post, path = "/mcp", tag = "mcp", request_body = serde_json::Value, responses(
    (status = 200, description = "The JSON-RPC response"),
    (status = 202, description = "The notification was accepted"),
    (status = 501, body = ProblemDetails, content_type = "application/problem+json", description = "This build does not include MCP"),
    (status = 406, body = ProblemDetails, content_type = "application/problem+json", description = "The header Accept does not name both application/json and text/event-stream"),
))]
pub(crate) async fn answer(call: RequestContext, request: Request) -> Result<Response, ApiError> {
    AVAILABLE.map_err(|missing| problem(ErrorCode::FeatureMissing, missing.to_string()))?;
    let most = call.app.config.body_bytes;
    // A declared length above the limit is rejected before the body is read.
    if request.body().size_hint().lower() > most as u64 {
        return Err(large(most));
    }
    // Before the definitions are loaded, an empty list would be wrong, because the store may have
    // prompts.
    let ready = call.app.service.catalogue().ready();
    ready.map_err(ServiceError::Store)?;
    let answer = call
        .app
        .mcp
        .endpoint_of(call.client.caller())
        .answer(request)
        .await;
    // The transport returns HTTP errors as plain text. Only JSON-RPC responses have a content type.
    let is_plain = !answer.headers().contains_key(CONTENT_TYPE);
    if is_plain && (answer.status().is_client_error() || answer.status().is_server_error()) {
        let status = answer.status().as_u16();
        let said = match answer.into_body().collect().await {
            Ok(body) => String::from_utf8_lossy(&body.to_bytes()).into_owned(),
            Err(never) => match never {},
        };
        return Err(problem(ErrorCode::McpRequest, said).with_status(status));
    }
    Ok(answer.map(Body::new))
}
