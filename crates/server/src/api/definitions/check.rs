//! The route that checks a definition without writing it.

use axum::extract::Request;
use axum::response::Response;
use quillet_core::Diagnostic;
use serde::Serialize;
use utoipa::ToSchema;

use super::{DefinitionPath, body};
use crate::api::json_body;
use crate::error::{ApiError, ProblemDetails};
use crate::extract::QueryParams;
use crate::request_context::RequestContext;

/// The diagnostics of a definition.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Findings)]
pub(crate) struct CheckResponse {
    /// Errors, which make the definition unusable, and warnings.
    #[schema(value_type = Vec<Object>)]
    diagnostics: Vec<Diagnostic>,
}

/// Checks a definition as if it were stored under this id
///
/// Same checks as `quillet check`. Nothing is written.
#[utoipa::path(post, path = "/{kind}/{id}/check", operation_id = "check_{kind}", tag = "definitions",
    params(("id" = String, Path), body::DefinitionFormatQuery), request_body = Object, responses(
    (status = 200, body = CheckResponse),
    (status = 400, body = ProblemDetails, content_type = "application/problem+json"),
))]
pub(crate) async fn check(
    call: RequestContext,
    DefinitionPath { kind, id }: DefinitionPath,
    QueryParams(form): QueryParams<body::DefinitionFormatQuery>,
    request: Request,
) -> Result<Response, ApiError> {
    let content = body::definition(&call, kind, &id, &form, request).await?;
    let key = call.app.definitions.key(kind, &id).await?;
    let diagnostics = call.app.definitions.check(kind, &key, &content);
    json_body(&CheckResponse { diagnostics })
}
