//! What agents are known. Nobody keeps them in memory: they are read when they are asked for.

use axum::response::Response;
use quillet_core::Diagnostic;
use quillet_core::history::{Content, Mark};
use quillet_core::store::{Key, Kind};
use quillet_host::definitions::Right;
use quillet_prompt::Revision;
use serde::Serialize;
use serde_json::Value as Tree;
use utoipa::ToSchema;

use super::Id;
use super::definitions::tree;
use crate::error::{ApiError, Problem};
use crate::exchange::Call;
use crate::revision::{Least, Wanted};

/// An agent as it was registered, and what is wrong with it.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AgentDetail {
    /// The definition; a text if it is no JSON.
    agent: Tree,
    /// `valid` or `invalid`.
    status: &'static str,
    /// Errors and warnings about it.
    #[schema(value_type = Vec<Object>)]
    diagnostics: Vec<Diagnostic>,
}

/// Ids of all agents, sorted.
#[utoipa::path(get, path = "/agents", tag = "catalogue", params(Least), responses(
    (status = 200, body = Vec<String>),
    (status = 503, body = Problem, content_type = "application/problem+json", description = "The store does not answer"),
))]
pub(crate) async fn list_agents(call: Call, wanted: Wanted) -> Result<Response, ApiError> {
    wanted.latest(&call.app).await?;
    let store = call.app.service.catalogue().store();
    let keys = store.keys(Kind::Agent).await;
    let keys = keys.map_err(quillet_prompt::ServiceError::Store)?;
    let rights = call.rights();
    let mut ids: Vec<String> = keys.iter().map(Key::id).collect();
    ids.retain(|id| rights.has(Right::Read, id));
    ids.sort();
    wanted.answer(&ids, None)
}

/// An agent as it was registered, or the version of it that the id ends in: `support@7`.
#[utoipa::path(get, path = "/agents/{id}", tag = "catalogue", params(("id" = String, Path), Least), responses(
    (status = 200, body = AgentDetail),
    (status = 404, body = Problem, content_type = "application/problem+json"),
    (status = 503, body = Problem, content_type = "application/problem+json", description = "The store does not answer"),
))]
pub(crate) async fn get_agent(
    call: Call,
    wanted: Wanted,
    Id(id): Id,
) -> Result<Response, ApiError> {
    wanted.latest(&call.app).await?;
    let definitions = &call.app.definitions;
    let (id, mark) = definitions.divide(Kind::Agent, &id).await?;
    let found = definitions
        .find(Kind::Agent, id, Some(&mark.unwrap_or_else(Mark::latest)))
        .await?;
    let revision = Revision::of(found.content.text.as_bytes());
    wanted.answer(&detail(&call, &found.key, &found.content), Some(revision))
}

/// What is told of an agent.
pub(super) fn detail(call: &Call, key: &Key, content: &Content) -> AgentDetail {
    let diagnostics = call.app.definitions.check(Kind::Agent, key, content);
    AgentDetail {
        agent: tree(&content.text),
        status: super::definitions::status(&diagnostics),
        diagnostics,
    }
}
