//! Routes that list and show agents. Agents are not cached: each request reads the store.

use axum::response::Response;
use quillet_agent::AgentDefinition;
use quillet_core::Diagnostic;
use quillet_core::history::{DefinitionContent, VersionSelector};
use quillet_core::store::{EntryKey, EntryKind, StoreEntry};
use quillet_host::definitions::Permission;
use quillet_prompt::{Revision, ServiceError};
use serde::Serialize;
use serde_json::Value as Tree;
use utoipa::ToSchema;

use super::Id;
use super::definitions::tree;
use super::listing::{Listing, has_all};
use crate::error::{ApiError, ProblemDetails};
use crate::extract::QueryParams;
use crate::request_context::RequestContext;
use crate::revision::{MinRevision, RevisionPreconditions};

/// A stored agent with its diagnostics.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AgentDetail {
    /// The definition, or a string if it is not JSON.
    agent: Tree,
    /// `valid` or `invalid`.
    status: &'static str,
    /// Errors and warnings about the definition.
    #[schema(value_type = Vec<Object>)]
    diagnostics: Vec<Diagnostic>,
}

/// An agent in a detailed list.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AgentItem {
    /// The id that other routes accept.
    id: String,
    /// `valid` or `invalid`.
    status: &'static str,
    /// The location in the store, such as a file or a key.
    source: String,
    /// The description, if set.
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    /// The model, if set.
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    /// Whether some of its tool calls need approval by a person.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    asks: bool,
    /// Errors and warnings about the definition.
    #[schema(value_type = Vec<Object>)]
    diagnostics: Vec<Diagnostic>,
}

/// A list of ids, or of items with `detail`.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ListedAgents)]
#[serde(untagged)]
enum AgentList {
    /// Ids, sorted.
    Ids(Vec<String>),
    /// Items with status and diagnostics.
    Items(Vec<AgentItem>),
}

/// Lists the ids of all agents, sorted
#[utoipa::path(get, path = "/agents", tag = "catalogue", params(Listing, MinRevision), responses(
    (status = 200, body = AgentList),
    (status = 503, body = ProblemDetails, content_type = "application/problem+json", description = "The store is unavailable"),
))]
pub(crate) async fn list_agents(
    call: RequestContext,
    wanted: RevisionPreconditions,
    QueryParams(listing): QueryParams<Listing>,
) -> Result<Response, ApiError> {
    wanted.wait_for_latest(&call.app).await?;
    let store = call.app.service.catalogue().store();
    let (rights, words) = (call.rights(), listing.words());
    // Keys alone are much cheaper to read than all texts.
    if !listing.is_detailed() && words.is_empty() {
        let keys = store
            .keys(EntryKind::Agent)
            .await
            .map_err(ServiceError::Store)?;
        let mut ids: Vec<String> = keys.iter().map(EntryKey::id).collect();
        ids.retain(|id| rights.has(Permission::Read, id));
        ids.sort();
        return wanted.answer(&AgentList::Ids(ids), None);
    }
    let entries = store.load(EntryKind::Agent).await;
    let mut entries = entries.map_err(ServiceError::Store)?;
    entries.retain(|entry| {
        let id = entry.key.id();
        rights.has(Permission::Read, &id) && has_all(&words, &id, &entry.text)
    });
    entries.sort_by_key(|entry| entry.key.id());
    let listed = if listing.is_detailed() {
        AgentList::Items(entries.iter().map(|entry| item(&call, entry)).collect())
    } else {
        AgentList::Ids(entries.iter().map(|entry| entry.key.id()).collect())
    };
    wanted.answer(&listed, None)
}

fn item(call: &RequestContext, entry: &StoreEntry) -> AgentItem {
    let known = AgentDefinition::parse(&entry.origin, &entry.text).ok();
    let AgentDetail {
        status,
        diagnostics,
        ..
    } = detail(call, &entry.key, &DefinitionContent::of(entry));
    let known = known.map(|agent| (agent.description, agent.model, !agent.ask.is_empty()));
    let (description, model, asks) = known.unwrap_or_default();
    AgentItem {
        id: entry.key.id(),
        status,
        source: entry.origin.to_string(),
        description,
        model,
        asks,
        diagnostics,
    }
}

/// Returns an agent, or the version that the id selects: `support@7`
#[utoipa::path(get, path = "/agents/{id}", tag = "catalogue", params(("id" = String, Path), MinRevision), responses(
    (status = 200, body = AgentDetail),
    (status = 404, body = ProblemDetails, content_type = "application/problem+json"),
    (status = 503, body = ProblemDetails, content_type = "application/problem+json", description = "The store is unavailable"),
))]
pub(crate) async fn get_agent(
    call: RequestContext,
    wanted: RevisionPreconditions,
    Id(id): Id,
) -> Result<Response, ApiError> {
    wanted.wait_for_latest(&call.app).await?;
    let definitions = &call.app.definitions;
    let (id, mark) = definitions.divide(EntryKind::Agent, &id).await?;
    let found = definitions
        .find(
            EntryKind::Agent,
            id,
            Some(&mark.unwrap_or_else(VersionSelector::latest)),
        )
        .await?;
    let revision = Revision::of(found.content.text.as_bytes());
    wanted.answer(&detail(&call, &found.key, &found.content), Some(revision))
}

/// Returns the detail of an agent.
pub(super) fn detail(
    call: &RequestContext,
    key: &EntryKey,
    content: &DefinitionContent,
) -> AgentDetail {
    let diagnostics = call.app.definitions.check(EntryKind::Agent, key, content);
    AgentDetail {
        agent: tree(&content.text),
        status: super::definitions::status(&diagnostics),
        diagnostics,
    }
}
