//! Reads prompts of the registry.

use axum::response::Response;
use quillet_core::ErrorCode;
use serde::Deserialize;
use serde_json::json;

use super::answer;
use crate::api::client_fill::{self, PromptView, VersionRequest};
use crate::api::json_body;
use crate::error::{ApiError, problem};
use crate::extract::QueryParams;
use crate::request_context::RequestContext;

/// Query parameters.
#[derive(Debug, Default, Deserialize)]
pub(super) struct VersionQuery {
    name: Option<String>,
    version: Option<String>,
    alias: Option<String>,
}

/// `registered-models/get`: returns a prompt.
pub(super) async fn model(
    call: RequestContext,
    QueryParams(query): QueryParams<VersionQuery>,
) -> Result<Response, ApiError> {
    let name = required_param("name", query.name)?;
    let id = client_fill::readable(&call, &name).await?;
    let view = PromptView::of(&call, &id).await?;
    json_body(&json!({"registered_model": answer::model(&view).await?}))
}

/// `model-versions/get`: returns a version.
pub(super) async fn version(
    call: RequestContext,
    QueryParams(query): QueryParams<VersionQuery>,
) -> Result<Response, ApiError> {
    let (name, version) = (
        required_param("name", query.name)?,
        required_param("version", query.version)?,
    );
    let number = version.parse().map_err(|_| {
        let message = format!("version: expected a version number, not {version:?}");
        problem(ErrorCode::DoorRequest, message)
    })?;
    found(&call, &name, VersionRequest::Number(number)).await
}

/// `registered-models/alias`: returns the version of an alias.
pub(super) async fn by_alias(
    call: RequestContext,
    QueryParams(query): QueryParams<VersionQuery>,
) -> Result<Response, ApiError> {
    let (name, alias) = (
        required_param("name", query.name)?,
        required_param("alias", query.alias)?,
    );
    found(&call, &name, VersionRequest::Label(&alias)).await
}

async fn found(
    call: &RequestContext,
    name: &str,
    wish: VersionRequest<'_>,
) -> Result<Response, ApiError> {
    let id = client_fill::readable(call, name).await?;
    let view = PromptView::of(call, &id).await?;
    let found = view.find(wish).await?.ok_or_else(|| {
        let what = match wish {
            VersionRequest::Number(number) => format!("version {number}"),
            VersionRequest::Label(label) => format!("alias {label}"),
            VersionRequest::Default => "version".to_owned(),
        };
        problem(ErrorCode::HistoryVersion, format!("{name} has no {what}"))
    })?;
    json_body(&json!({"model_version": answer::version(call, &view, &found).await?}))
}

fn required_param(name: &str, value: Option<String>) -> Result<String, ApiError> {
    let missing = || problem(ErrorCode::DoorRequest, format!("{name}: required"));
    value.filter(|value| !value.is_empty()).ok_or_else(missing)
}
