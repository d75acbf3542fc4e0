//! `DELETE /api/public/v2/prompts/{name}`: deletes a prompt or one version of it.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use quillet_core::ErrorCode;
use quillet_core::history::{LabelMove, LabelTarget, TrafficSplit, WritePrecondition};
use quillet_core::store::EntryKind;
use quillet_host::definitions::{Permission, ResolvedVersion, Write, heaviest};

use super::answer;
use super::read::LangfusePromptQuery;
use crate::api::Id;
use crate::api::client_fill::{self, HIDDEN, PromptView, VersionRequest};
use crate::error::{ApiError, problem};
use crate::extract::QueryParams;
use crate::request_context::RequestContext;

/// Deletes a prompt or a version. Its versions stay in the history and in this server's own routes.
pub(super) async fn delete(
    call: RequestContext,
    Id(name): Id,
    QueryParams(query): QueryParams<LangfusePromptQuery>,
) -> Result<Response, ApiError> {
    let wish = query.version_request()?;
    let id = client_fill::known_id(&call, &name)?;
    call.app
        .definitions
        .permit(&call.actor(), Permission::Write, EntryKind::Prompt, &id)
        .await?;
    let absent = |error: ApiError| match error.code() {
        ErrorCode::NotFound => problem(ErrorCode::NotFound, "Prompt not found"),
        _ => error,
    };
    let view = PromptView::of(&call, &id).await.map_err(absent)?;
    if wish == VersionRequest::Default {
        remove(&call, &id).await?;
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    let found = view.find(wish).await.map_err(absent)?;
    let found = found.ok_or_else(|| problem(ErrorCode::NotFound, "Prompt not found"))?;
    version(&call, &view, &found).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

async fn remove(call: &RequestContext, id: &str) -> Result<(), ApiError> {
    let definitions = &call.app.definitions;
    let actor = call.actor();
    let removing = definitions.remove(
        &actor,
        EntryKind::Prompt,
        id,
        "",
        WritePrecondition::Anything,
    );
    removing.await?;
    Ok(())
}

/// Hides a version. If it is the newest one, the previous version is written again as the newest,
/// so that the deleted one is no longer used.
async fn version(
    call: &RequestContext,
    view: &PromptView<'_>,
    found: &ResolvedVersion,
) -> Result<(), ApiError> {
    let number = found.version.as_ref().map_or(0, |version| version.number);
    let remaining = view.versions().await?;
    let mut remaining = remaining.iter().map(|version| version.number);
    let before = remaining.find(|other| *other != number);
    let Some(before) = before else {
        return remove(call, &view.id).await;
    };
    let hidden = view.hidden_with(&[number]);
    let hidden = TrafficSplit {
        versions: hidden.into_iter().map(|number| (number, 1)).collect(),
        ..TrafficSplit::default()
    };
    let of_it = view
        .labels
        .0
        .iter()
        .filter(|(_, to)| heaviest(to) == number);
    let mut moves: Vec<LabelMove> = of_it.map(|(name, _)| moved(name, None)).collect();
    // A label has only one target, so the target of the hidden label is a split of all hidden
    // versions. The weights of the split have no meaning.
    moves.push(moved(HIDDEN, Some(LabelTarget::Split(hidden))));
    let (definitions, actor) = (&call.app.definitions, call.actor());
    let message = format!("version {number} deleted");
    definitions
        .relabel_all(&actor, EntryKind::Prompt, &view.id, &moves, &message)
        .await?;
    if view.latest().await? != Some(number) {
        return Ok(());
    }
    let wish = VersionRequest::Number(before);
    let found = view.find(wish).await?;
    let found = found.ok_or_else(|| answer::not_found(&view.id, wish))?;
    let write = Write {
        content: found.content,
        message: &message,
        expect: WritePrecondition::Version(number),
        broken: true,
        ..Write::new(EntryKind::Prompt, &view.id, "")
    };
    definitions.write(&actor, write).await?;
    Ok(())
}

fn moved(name: &str, to: Option<LabelTarget>) -> LabelMove {
    LabelMove {
        name: name.to_owned(),
        to,
        expect: None,
    }
}
