//! `GET /api/public/v2/prompts/{name}`: returns a prompt.

use axum::response::Response;
use quillet_core::ErrorCode;
use quillet_prompt::Notation;
use serde::Deserialize;
use serde_json::Value;

use super::answer;
use super::compose::compose;
use crate::api::client_fill::{self, PromptView, VersionRequest};
use crate::api::{Id, json_body};
use crate::error::{ApiError, problem};
use crate::extract::QueryParams;
use crate::request_context::RequestContext;

/// Query parameters.
#[derive(Debug, Default, Deserialize)]
pub(super) struct LangfusePromptQuery {
    version: Option<String>,
    label: Option<String>,
    resolve: Option<String>,
}

impl LangfusePromptQuery {
    /// Returns the requested version.
    ///
    /// # Errors
    /// Fails if the version is not a number or if both a version and a label are set.
    pub(super) fn version_request(&self) -> Result<VersionRequest<'_>, ApiError> {
        let version = self.version.as_deref().filter(|text| !text.is_empty());
        let label = self.label.as_deref().filter(|text| !text.is_empty());
        let Some(version) = version else {
            return Ok(label.map_or(VersionRequest::Default, VersionRequest::Label));
        };
        let number: i64 = version.parse().map_err(|_| {
            problem(ErrorCode::DoorRequest, "version: must be a whole number").with_param("version")
        })?;
        match (number, label) {
            // Langfuse treats version 0 as if no version was given.
            (0, label) => Ok(label.map_or(VersionRequest::Default, VersionRequest::Label)),
            (_, Some(_)) => {
                let message = "Cannot specify both version and label";
                Err(problem(ErrorCode::DoorRequest, message))
            }
            // No version has a number below 1, so map such a number to one that never exists.
            (number, None) => Ok(VersionRequest::Number(
                u64::try_from(number).unwrap_or(u64::MAX),
            )),
        }
    }

    fn resolves(&self) -> bool {
        self.resolve.as_deref() != Some("false")
    }
}

/// Returns a version of a prompt.
pub(super) async fn read(
    call: RequestContext,
    Id(name): Id,
    QueryParams(query): QueryParams<LangfusePromptQuery>,
) -> Result<Response, ApiError> {
    let wish = query.version_request()?;
    let id = client_fill::readable(&call, &name).await?;
    let absent = |error| answer::or_not_found(error, &name, wish);
    let view = PromptView::of(&call, &id).await.map_err(absent)?;
    let found = view.find(wish).await.map_err(absent)?;
    // Return Langfuse's own 404 body, which its SDKs recognize.
    let found = found.ok_or_else(|| answer::not_found(&name, wish))?;
    let said = client_fill::export_version(&call, &id, &found, Notation::Double).await?;
    let (said, resolved) = if query.resolves() {
        compose(&call, &name, said).await?
    } else {
        (said, Value::Null)
    };
    json_body(&answer::prompt(&view, &found, &said, resolved).await?)
}
