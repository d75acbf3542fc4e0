//! `PATCH /api/public/v2/prompts/{name}/versions/{version}`: adds labels to a version.

use axum::extract::{Path, Request};
use axum::response::Response;
use quillet_core::history::{LATEST, LabelMove, LabelTarget};
use quillet_core::store::EntryKind;
use quillet_prompt::Notation;
use serde_json::Value;

use super::answer;
use super::create::{object, texts, wrong};
use crate::api::client_fill::{self, PromptView, VersionRequest};
use crate::api::json_body;
use crate::error::ApiError;
use crate::request_context::RequestContext;

/// Adds labels to a version.
pub(super) async fn relabel(
    call: RequestContext,
    Path((name, version)): Path<(String, String)>,
    request: Request,
) -> Result<Response, ApiError> {
    let number: u64 = version
        .parse()
        .map_err(|_| wrong("promptVersion", "expected a version number"))?;
    let body = object(&call, request).await?;
    let labels = texts(&body, "newLabels")?;
    let labels = labels.ok_or_else(|| wrong("newLabels", "expected a list of strings"))?;
    if labels.iter().any(|label| label == LATEST) {
        let why = "the label 'latest' moves automatically and cannot be set";
        return Err(wrong("newLabels", why));
    }
    let wish = VersionRequest::Number(number);
    let absent = |error| answer::or_not_found(error, &name, wish);
    let id = client_fill::readable(&call, &name).await?;
    let view = PromptView::of(&call, &id).await.map_err(absent)?;
    let found = view.find(wish).await.map_err(absent)?;
    let found = found.ok_or_else(|| answer::not_found(&name, wish))?;
    let moves: Vec<LabelMove> = labels
        .into_iter()
        .map(|name| LabelMove {
            name,
            to: Some(LabelTarget::Version(number)),
            expect: None,
        })
        .collect();
    let definitions = &call.app.definitions;
    let actor = call.actor();
    definitions
        .relabel_all(&actor, EntryKind::Prompt, &id, &moves, "")
        .await?;
    let view = PromptView::of(&call, &id).await?;
    let said = client_fill::export_version(&call, &id, &found, Notation::Double).await?;
    json_body(&answer::prompt(&view, &found, &said, Value::Null).await?)
}
