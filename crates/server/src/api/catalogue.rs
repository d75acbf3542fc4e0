//! Routes that list and show extensions, prompts, shared variables and tools.

use std::sync::Arc;

use axum::response::Response;
use quillet_core::Diagnostic;
use quillet_core::history::DefinitionContent;
use quillet_core::store::{EntryKey, EntryKind, StoreEntry};
use quillet_host::definitions::Permission;
use quillet_prompt::{
    CatalogueSnapshot, ChunkedTable, Definition, DefinitionState, Extension, PromptEntry,
    PromptOrigin, ServiceError, script_source,
};
use serde::Serialize;
use serde_json::Value as Tree;
use utoipa::ToSchema;

use super::definitions::{status, tree, with_version_headers};
use super::listing::{Listing, has_all};
use super::{Id, agents, to_json};
use crate::error::{ApiError, ProblemDetails};
use crate::extract::QueryParams;
use crate::request_context::RequestContext;
use crate::revision::{MinRevision, RevisionPreconditions, of_prompt};

/// A definition in a detailed list.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ListedItem)]
pub(crate) struct CatalogueItem<'a> {
    /// The id that other routes accept.
    id: &'a str,
    /// `valid` or `invalid`.
    status: &'static str,
    /// The location in the store, such as a file or a key.
    source: &'a str,
    /// For a prompt: `script` if it is run, `template` if it is rendered.
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    /// The title of a prompt, if set.
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    /// Errors and warnings about the definition.
    #[schema(value_type = Vec<Object>)]
    diagnostics: &'a [Diagnostic],
}

/// A shared variable in a detailed list.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct EnvironItem {
    /// The id that other routes accept.
    id: String,
    /// `valid`, or `invalid` if the stored text is not a value.
    status: &'static str,
    /// The location in the store, such as a file or a key.
    source: String,
    /// The diagnostics of an invalid value.
    #[schema(value_type = Vec<Object>)]
    diagnostics: Vec<Diagnostic>,
}

/// A list of ids, or of items with `detail`.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Listed)]
#[serde(untagged)]
#[allow(dead_code, reason = "describes what is written from elsewhere")]
pub(crate) enum CatalogueList<'a> {
    /// Ids, sorted.
    Ids(Vec<String>),
    /// Items with status and diagnostics.
    Items(Vec<CatalogueItem<'a>>),
}

/// A stored prompt.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct PromptDetail<'a> {
    /// `direct`, or `extension` where an extension provides it.
    #[schema(value_type = String)]
    origin: PromptOrigin,
    /// The definition, or a string if it is not JSON.
    prompt: Tree,
    /// `script` if it is run, `template` if it is rendered.
    kind: &'static str,
    /// The title, if set.
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    /// The location in the store.
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    /// JSON Schema of the prompt's input, absent if the prompt is invalid.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    parameters: Option<Tree>,
    /// `valid` or `invalid`.
    status: &'static str,
    /// Where it is stored.
    source: &'a str,
    /// Errors and warnings about the definition.
    #[schema(value_type = Vec<Object>)]
    diagnostics: &'a [Diagnostic],
}

/// Lists the ids of all extensions, sorted
#[utoipa::path(get, path = "/extensions", tag = "catalogue", params(Listing, MinRevision),
    responses((status = 200, body = CatalogueList),
    (status = 503, body = ProblemDetails, content_type = "application/problem+json", description = "The store was never read, or is unavailable"),
))]
pub(crate) async fn list_extensions(
    call: RequestContext,
    wanted: RevisionPreconditions,
    QueryParams(listing): QueryParams<Listing>,
) -> Result<Response, ApiError> {
    let snapshot = listed(&call, &wanted).await?;
    list(&call, &snapshot.extensions, &wanted, &listing)
}

/// Lists the ids of all prompts, including those of extensions, sorted
#[utoipa::path(get, path = "/prompts", tag = "catalogue", params(Listing, MinRevision),
    responses((status = 200, body = CatalogueList),
    (status = 503, body = ProblemDetails, content_type = "application/problem+json", description = "The store was never read, or is unavailable"),
))]
pub(crate) async fn list_prompts(
    call: RequestContext,
    wanted: RevisionPreconditions,
    QueryParams(listing): QueryParams<Listing>,
) -> Result<Response, ApiError> {
    let snapshot = listed(&call, &wanted).await?;
    if !listing.is_detailed() {
        return ids(&call, &snapshot.prompts, &wanted, &listing);
    }
    let items = found(&call, &snapshot.prompts, &listing).map(|known| CatalogueItem {
        kind: Some(kind(known)),
        title: known
            .usable(EntryKind::Prompt)
            .ok()
            .and_then(PromptEntry::title),
        ..item(known)
    });
    wanted.answer(&items.collect::<Vec<_>>(), None)
}

/// Lists the ids of all tools, sorted
#[utoipa::path(get, path = "/tools", tag = "catalogue", params(Listing, MinRevision),
    responses((status = 200, body = CatalogueList),
    (status = 503, body = ProblemDetails, content_type = "application/problem+json", description = "The store was never read, or is unavailable"),
))]
pub(crate) async fn list_tools(
    call: RequestContext,
    wanted: RevisionPreconditions,
    QueryParams(listing): QueryParams<Listing>,
) -> Result<Response, ApiError> {
    let snapshot = listed(&call, &wanted).await?;
    list(&call, &snapshot.tools, &wanted, &listing)
}

/// Lists the ids of all shared variables, sorted
#[utoipa::path(get, path = "/environs", tag = "catalogue", params(Listing, MinRevision), responses(
    (status = 200, body = CatalogueList),
    (status = 503, body = ProblemDetails, content_type = "application/problem+json", description = "The store is unavailable and nothing is cached"),
))]
pub(crate) async fn list_environs(
    call: RequestContext,
    wanted: RevisionPreconditions,
    QueryParams(listing): QueryParams<Listing>,
) -> Result<Response, ApiError> {
    wanted.wait_for_latest(&call.app).await?;
    let variables = call.app.service.variables();
    let words = listing.words();
    let is_found = |id: &str| may_read(&call, id) && has_all(&words, id, "");
    if !listing.is_detailed() {
        let mut ids = variables.ids().await?;
        ids.retain(|id| is_found(id));
        return wanted.answer(&ids, None);
    }
    let entries = variables.entries().await.map_err(ServiceError::Store)?;
    let item = |entry: StoreEntry| EnvironItem {
        id: entry.key.id(),
        status: if entry.problem.is_some() {
            "invalid"
        } else {
            "valid"
        },
        source: entry.origin.to_string(),
        diagnostics: entry.problem.into_iter().collect(),
    };
    let mut items: Vec<EnvironItem> = entries.into_iter().map(item).collect();
    items.retain(|item| is_found(&item.id));
    items.sort_by(|one, other| one.id.cmp(&other.id));
    wanted.answer(&items, None)
}

/// Returns an extension
#[utoipa::path(get, path = "/extensions/{id}", tag = "catalogue", params(("id" = String, Path), MinRevision), responses(
    (status = 200, body = Tree, description = "The definition; a string if it is not JSON"),
    (status = 404, body = ProblemDetails, content_type = "application/problem+json"),
    (status = 503, body = ProblemDetails, content_type = "application/problem+json", description = "The store was never read, or is unavailable"),
))]
pub(crate) async fn get_extension(
    call: RequestContext,
    wanted: RevisionPreconditions,
    Id(id): Id,
) -> Result<Response, ApiError> {
    if let Some(answer) = version(&call, &wanted, EntryKind::Extension, &id).await? {
        return Ok(answer);
    }
    let revision = |snapshot: &CatalogueSnapshot| Some(snapshot.extensions.get(&id)?.revision);
    let snapshot = wanted.wait_for_revision(&call.app, &id, revision).await?;
    let definition = found_or_unavailable(&call, snapshot.extension(&id))?;
    wanted.answer(&tree(&definition.text), Some(definition.revision))
}

/// Returns a prompt with its diagnostics, or the version that the id selects: `greet.hello@7`,
/// `@production`, `@sha256:…`
#[utoipa::path(get, path = "/prompts/{id}", tag = "catalogue", params(("id" = String, Path), MinRevision), responses(
    (status = 200, body = PromptDetail),
    (status = 404, body = ProblemDetails, content_type = "application/problem+json"),
    (status = 503, body = ProblemDetails, content_type = "application/problem+json", description = "The store was never read, or is unavailable"),
))]
pub(crate) async fn get_prompt(
    call: RequestContext,
    wanted: RevisionPreconditions,
    Id(id): Id,
) -> Result<Response, ApiError> {
    // An id with a version selector is read from the history and not from the snapshot.
    if let Some(answer) = version(&call, &wanted, EntryKind::Prompt, &id).await? {
        return Ok(answer);
    }
    let snapshot = wanted
        .wait_for_revision(&call.app, &id, of_prompt(&id))
        .await?;
    let definition = found_or_unavailable(&call, snapshot.prompt(&id))?;
    let detail = detail(&call, &snapshot, definition);
    wanted.answer(&detail, Some(definition.revision))
}

fn detail<'a>(
    call: &RequestContext,
    snapshot: &'a CatalogueSnapshot,
    definition: &'a Definition<PromptEntry>,
) -> PromptDetail<'a> {
    let entry = definition.usable(EntryKind::Prompt).ok();
    let (origin, prompt) = match &definition.state {
        DefinitionState::Valid(entry) => (entry.origin, definition.raw().unwrap_or_default()),
        DefinitionState::Invalid => broken(snapshot, definition),
    };
    PromptDetail {
        origin,
        prompt,
        kind: kind(definition),
        title: entry.and_then(PromptEntry::title),
        description: entry.and_then(PromptEntry::description),
        parameters: entry.map(|entry| call.app.service.accepted(entry)),
        status: definition.status(),
        source: &definition.origin,
        diagnostics: &definition.diagnostics,
    }
}

/// Returns the version that an id selects (`greet.hello@7`, `@production`) in the same format as
/// the definition, or `None` if the id has no version selector.
async fn version(
    call: &RequestContext,
    wanted: &RevisionPreconditions,
    kind: EntryKind,
    id: &str,
) -> Result<Option<Response>, ApiError> {
    let definitions = &call.app.definitions;
    let (plain, Some(mark)) = definitions.divide(kind, id).await? else {
        return Ok(None);
    };
    wanted.wait_for_latest(&call.app).await?;
    let (found, version) = definitions.ensure_version(kind, plain, &mark).await?;
    let definition = tree(&found.content.text);
    let answer = if kind == EntryKind::Prompt {
        let diagnostics = definitions.check(kind, &found.key, &found.content);
        let is_script = script_source(&found.content.text).is_some();
        let text = |name: &str| definition.get(name).and_then(Tree::as_str);
        let detail = PromptDetail {
            origin: PromptOrigin::Direct,
            kind: if is_script { "script" } else { "template" },
            title: text("title"),
            description: text("description"),
            parameters: None,
            status: status(&diagnostics),
            source: id,
            diagnostics: &diagnostics,
            prompt: definition.clone(),
        };
        wanted.answer(&detail, None)
    } else {
        wanted.answer(&definition, None)
    }?;
    let text = &found.content.text;
    Ok(Some(with_version_headers(
        answer,
        Some(version.number),
        Some(text),
    )))
}

/// Returns the body that `GET` sends for a definition, if the snapshot has this content.
pub(super) fn current_body(
    call: &RequestContext,
    kind: EntryKind,
    id: &str,
    content: &DefinitionContent,
) -> Option<Vec<u8>> {
    let snapshot = call.app.service.catalogue().snapshot();
    let is_of = |text: &str| text == &*content.text;
    match kind {
        EntryKind::Prompt => {
            let definition = snapshot.prompts.get(id).filter(|one| is_of(&one.text))?;
            to_json(&detail(call, &snapshot, definition)).ok()
        }
        EntryKind::Agent => {
            let key = EntryKey::new(id.replace('.', ":"));
            to_json(&agents::detail(call, &key, content)).ok()
        }
        _ => to_json(&tree(&content.text)).ok(),
    }
}

/// Returns the value of a shared variable, or the tree of values under the id
#[utoipa::path(get, path = "/environs/{id}", tag = "catalogue", params(("id" = String, Path), MinRevision), responses(
    (status = 200, body = Tree, description = "Any JSON value"),
    (status = 404, body = ProblemDetails, content_type = "application/problem+json"),
    (status = 503, body = ProblemDetails, content_type = "application/problem+json", description = "The store is unavailable and nothing is cached"),
))]
pub(crate) async fn get_environ(
    call: RequestContext,
    wanted: RevisionPreconditions,
    Id(id): Id,
) -> Result<Response, ApiError> {
    wanted.wait_for_latest(&call.app).await?;
    let variables = call.app.service.variables();
    if !call.rights().are_all() {
        // The tree contains every variable below the id, so each needs the permission.
        let ids = variables.ids().await?;
        let below = |known: &&String| {
            let rest = known.strip_prefix(id.as_str());
            rest.is_some_and(|rest| rest.starts_with('.'))
        };
        for hidden in ids.iter().filter(below) {
            call.require_permission(Permission::Read, EntryKind::Environ, hidden)
                .await?;
        }
    }
    wanted.answer(&variables.get(&id).await?, None)
}

/// Returns a tool
#[utoipa::path(get, path = "/tools/{id}", tag = "catalogue", params(("id" = String, Path), MinRevision), responses(
    (status = 200, body = Tree, description = "The definition; a string if it is not JSON"),
    (status = 404, body = ProblemDetails, content_type = "application/problem+json"),
    (status = 503, body = ProblemDetails, content_type = "application/problem+json", description = "The store was never read, or is unavailable"),
))]
pub(crate) async fn get_tool(
    call: RequestContext,
    wanted: RevisionPreconditions,
    Id(id): Id,
) -> Result<Response, ApiError> {
    if let Some(answer) = version(&call, &wanted, EntryKind::Tool, &id).await? {
        return Ok(answer);
    }
    let revision = |snapshot: &CatalogueSnapshot| Some(snapshot.tools.get(&id)?.revision);
    let snapshot = wanted.wait_for_revision(&call.app, &id, revision).await?;
    let definition = found_or_unavailable(&call, snapshot.tool(&id))?;
    wanted.answer(&tree(&definition.text), Some(definition.revision))
}

/// Returns the snapshot for a list. Fails before the first read of the store.
async fn listed(
    call: &RequestContext,
    wanted: &RevisionPreconditions,
) -> Result<Arc<CatalogueSnapshot>, ApiError> {
    let catalogue = call.app.service.catalogue();
    catalogue.ready().map_err(ServiceError::Store)?;
    wanted.wait_for_latest(&call.app).await?;
    Ok(catalogue.snapshot())
}

/// Returns the error for a missing definition. It may exist in a store that was never read, so an
/// unavailable store is reported first.
fn found_or_unavailable<T>(
    call: &RequestContext,
    found: Result<T, ServiceError>,
) -> Result<T, ApiError> {
    let catalogue = call.app.service.catalogue();
    found.map_err(|error| {
        catalogue
            .ready()
            .err()
            .map_or(error, ServiceError::Store)
            .into()
    })
}

type DefinitionTable<T> = ChunkedTable<Arc<Definition<T>>>;

fn list<T>(
    call: &RequestContext,
    known: &DefinitionTable<T>,
    wanted: &RevisionPreconditions,
    listing: &Listing,
) -> Result<Response, ApiError> {
    if !listing.is_detailed() {
        return ids(call, known, wanted, listing);
    }
    let items = found(call, known, listing).map(|known| item(known));
    wanted.answer(&items.collect::<Vec<_>>(), None)
}

fn ids<T>(
    call: &RequestContext,
    known: &DefinitionTable<T>,
    wanted: &RevisionPreconditions,
    listing: &Listing,
) -> Result<Response, ApiError> {
    let ids = found(call, known, listing).map(|known| &known.id);
    wanted.answer(&ids.collect::<Vec<_>>(), None)
}

/// Returns the definitions that the caller may read and that match the search.
fn found<'a, T>(
    call: &'a RequestContext,
    known: &'a DefinitionTable<T>,
    listing: &Listing,
) -> impl Iterator<Item = &'a Arc<Definition<T>>> {
    let words = listing.words();
    let is_found = move |known: &&Arc<Definition<T>>| {
        may_read(call, &known.id) && has_all(&words, &known.id, &known.text)
    };
    known.values().filter(is_found)
}

fn may_read(call: &RequestContext, id: &str) -> bool {
    call.rights().has(Permission::Read, id)
}

fn item<T>(definition: &Definition<T>) -> CatalogueItem<'_> {
    CatalogueItem {
        id: &definition.id,
        status: definition.status(),
        source: &definition.origin,
        kind: None,
        title: None,
        diagnostics: &definition.diagnostics,
    }
}

/// Returns the kind of a prompt, which may be invalid.
fn kind(definition: &Definition<PromptEntry>) -> &'static str {
    let is_script = match &definition.state {
        DefinitionState::Valid(entry) => entry.script().is_some(),
        DefinitionState::Invalid => script_source(&definition.text).is_some(),
    };
    if is_script { "script" } else { "template" }
}

/// Returns the origin of an invalid prompt, and its definition as far as it can be read.
fn broken(
    snapshot: &CatalogueSnapshot,
    definition: &Definition<PromptEntry>,
) -> (PromptOrigin, Tree) {
    let here = |extension: &&Arc<Definition<Arc<Extension>>>| extension.origin == definition.origin;
    match snapshot.extensions.values().find(here) {
        Some(extension) => (PromptOrigin::Extension, contributed(extension, definition)),
        None => (PromptOrigin::Direct, tree(&definition.text)),
    }
}

fn contributed(extension: &Definition<Arc<Extension>>, prompt: &Definition<PromptEntry>) -> Tree {
    let DefinitionState::Valid(extension) = &extension.state else {
        return Tree::Null;
    };
    let own = |item: &&Tree| {
        let name = item.get("name").and_then(Tree::as_str).unwrap_or_default();
        prompt.id.strip_prefix(extension.name.as_str()) == Some(&format!(".{name}"))
    };
    let prompts = extension
        .raw
        .pointer("/contributes/prompts")
        .and_then(Tree::as_array);
    prompts
        .into_iter()
        .flatten()
        .find(own)
        .cloned()
        .unwrap_or_default()
}
