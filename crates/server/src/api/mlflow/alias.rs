//! Aliases of MLflow's registry, which are labels here.

use axum::extract::Request;
use axum::response::Response;
use quillet_core::ErrorCode;
use quillet_core::history::{LATEST, LabelMove, LabelTarget};
use quillet_core::store::EntryKind;
use serde_json::json;

use super::create::{JsonObjectBody, body};
use crate::api::client_fill::{self, PromptView, VersionRequest};
use crate::api::json_body;
use crate::error::{ApiError, problem};
use crate::request_context::RequestContext;

/// Sets an alias.
pub(super) async fn set(call: RequestContext, request: Request) -> Result<Response, ApiError> {
    let body = body(&call, request).await?;
    let version = body.text("version")?;
    let number = version.parse().map_err(|_| {
        let message = format!("version: expected a version number, not {version:?}");
        problem(ErrorCode::DoorRequest, message)
    })?;
    let name = body.text("name")?;
    let id = client_fill::known_id(&call, &name)?;
    let view = PromptView::of(&call, &id).await?;
    // An alias must not make a hidden version visible again.
    if view.find(VersionRequest::Number(number)).await?.is_none() {
        let message = format!("{name} has no version {number}");
        return Err(problem(ErrorCode::HistoryVersion, message));
    }
    moved(&call, &body, &id, Some(LabelTarget::Version(number))).await
}

/// Removes an alias.
pub(super) async fn remove(call: RequestContext, request: Request) -> Result<Response, ApiError> {
    let body = body(&call, request).await?;
    let id = client_fill::known_id(&call, &body.text("name")?)?;
    PromptView::of(&call, &id).await?;
    moved(&call, &body, &id, None).await
}

async fn moved(
    call: &RequestContext,
    body: &JsonObjectBody,
    id: &str,
    to: Option<LabelTarget>,
) -> Result<Response, ApiError> {
    let name = body.text("alias")?;
    if name == LATEST {
        let message = "the alias latest moves automatically and cannot be set";
        return Err(problem(ErrorCode::DoorRequest, message));
    }
    let moves = [LabelMove {
        name,
        to,
        expect: None,
    }];
    let definitions = &call.app.definitions;
    definitions
        .relabel_all(&call.actor(), EntryKind::Prompt, id, &moves, "")
        .await?;
    json_body(&json!({}))
}
