//! Routes that list, show, compare and roll back versions of connections.
//!
//! Responses contain no secrets and no data that would confirm a guess. The digest and the length
//! are therefore omitted.

use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;
use axum::response::Response;
use quillet_core::ErrorCode;
use quillet_core::history::{Action, DefinitionContent, VersionSelector};
use quillet_core::store::EntryKind;
use quillet_host::definitions::{ResolvedVersion, readable, unified};
use quillet_sql::ConnectionDefinition;
use serde::Deserialize;
use serde_json::Value as Tree;
use utoipa::IntoParams;

use super::connections::{PutConnection, record_change, require_changes_allowed, update_tools};
use super::served::databases;
use crate::api::definitions::versions::{
    self, CompareQuery, VersionDetail, Versions, VersionsQuery,
};
use crate::api::{Id, json_body};
use crate::error::{ApiError, ProblemDetails, problem};
use crate::extract::QueryParams;
use crate::request_context::{RequestContext, RouteState};

/// Replaces a definition that cannot be parsed, because any part of it may be a secret.
const UNREADABLE: &str = "the stored value is not a valid connection and is not shown";

/// The connection and version that a path selects.
#[derive(Debug)]
pub(crate) struct ConnectionVersionPath {
    name: String,
    mark: VersionSelector,
}

impl FromRequestParts<RouteState> for ConnectionVersionPath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, at: &RouteState) -> Result<Self, ApiError> {
        let path = Path::<(String, String)>::from_request_parts(parts, at).await;
        let Ok(Path((name, mark))) = path else {
            let message = "the name or the version in the path is not UTF-8";
            return Err(problem(ErrorCode::RequestPath, message).with_hint("percent-encode it"));
        };
        let mark = parse_selector(&mark)?;
        Ok(ConnectionVersionPath { name, mark })
    }
}

/// Query parameters of a rollback.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct RollbackParams {
    /// The version to restore, by number or label. Default: the version before the newest.
    to: Option<String>,
    /// The reason for the rollback.
    #[serde(default)]
    message: String,
}

/// Lists the versions of a connection, newest first, even if it was removed
///
/// Digests are omitted, because they would help to guess a password.
#[utoipa::path(get, path = "/dbs/{name}/versions", operation_id = "list_database_versions", tag = "databases",
    params(("name" = String, Path), VersionsQuery), responses(
    (status = 200, body = Versions),
    (status = 404, body = ProblemDetails, content_type = "application/problem+json"),
))]
pub(crate) async fn list(
    call: RequestContext,
    Id(name): Id,
    QueryParams(page): QueryParams<VersionsQuery>,
) -> Result<Response, ApiError> {
    versions::list_page(&call, EntryKind::Database, &name, &page).await
}

/// Returns a version by its number or a label, with masked secrets
#[utoipa::path(get, path = "/dbs/{name}/versions/{mark}", operation_id = "get_database_version", tag = "databases",
    params(("name" = String, Path), ("mark" = String, Path)), responses(
    (status = 200, body = VersionDetail),
    (status = 404, body = ProblemDetails, content_type = "application/problem+json"),
))]
pub(crate) async fn get(
    call: RequestContext,
    part: ConnectionVersionPath,
) -> Result<Response, ApiError> {
    let shown = |content: &DefinitionContent| match read(content) {
        Some(definition) => serde_json::to_value(definition.masked()).unwrap_or_default(),
        None => UNREADABLE.into(),
    };
    versions::version_response(&call, EntryKind::Database, &part.name, &part.mark, shown).await
}

/// Compares two versions in unified diff format, with masked secrets
///
/// If a secret changed, a line reports it.
#[utoipa::path(get, path = "/dbs/{name}/diff", operation_id = "diff_database", tag = "databases",
    params(("name" = String, Path), CompareQuery), responses(
    (status = 200, body = String, content_type = "text/plain; charset=utf-8"),
    (status = 404, body = ProblemDetails, content_type = "application/problem+json"),
))]
pub(crate) async fn diff(
    call: RequestContext,
    Id(name): Id,
    QueryParams(sides): QueryParams<CompareQuery>,
) -> Result<Response, ApiError> {
    for side in [&sides.from, &sides.to].into_iter().flatten() {
        parse_selector(side)?;
    }
    let sides = versions::resolve_sides(&call, EntryKind::Database, &name, &sides).await?;
    let [from, to] = &sides;
    let others = has_other_secrets(&from.1.content, &to.1.content);
    let texts = [
        masked(&from.1.content, false),
        masked(&to.1.content, others),
    ];
    let [old, new] = &texts;
    let text = unified(&from.0, old, &to.0, new);
    Ok(versions::plain(text))
}

/// Restores a version as the newest one
///
/// Its database must respond, as for `PUT`.
#[utoipa::path(post, path = "/dbs/{name}/rollback", operation_id = "rollback_database", tag = "databases",
    params(("name" = String, Path), RollbackParams), responses(
    (status = 200, body = PutConnection),
    (status = 403, body = ProblemDetails, content_type = "application/problem+json", description = "Clients cannot change connections on this server"),
    (status = 404, body = ProblemDetails, content_type = "application/problem+json", description = "Unknown connection or version, or no earlier version"),
    (status = 503, body = ProblemDetails, content_type = "application/problem+json", description = "The database cannot be reached"),
))]
pub(crate) async fn rollback(
    call: RequestContext,
    Id(name): Id,
    QueryParams(back): QueryParams<RollbackParams>,
) -> Result<Response, ApiError> {
    require_changes_allowed(&call)?;
    let mark = match &back.to {
        Some(to) => parse_selector(to)?,
        None => before(&call, &name).await?,
    };
    let definitions = &call.app.definitions;
    let (found, version) = definitions
        .ensure_version(EntryKind::Database, &name, &mark)
        .await?;
    let definition = read(&found.content).ok_or_else(|| unreadable(&found))?;
    let message = match back.message.as_str() {
        "" => format!("rolled back to {}", version.number),
        said => said.to_owned(),
    };
    let actor = call.actor();
    let put = databases(&call)?
        .put_as(&name, definition, &actor.name, &message)
        .await?;
    record_change(&call, &actor, Action::Write, &name, put.version, &message).await;
    update_tools(&call).await;
    let number = put.version;
    let response = json_body(&PutConnection::from(put))?;
    Ok(versions::with_version_headers(response, number, None))
}

/// Returns the version before the newest one, or the last version of a removed connection.
async fn before(call: &RequestContext, name: &str) -> Result<VersionSelector, ApiError> {
    let definitions = &call.app.definitions;
    let newest = definitions
        .versions(EntryKind::Database, name, None, 1)
        .await?;
    let newest = newest.first().map(|newest| newest.number);
    versions::previous_version(call, EntryKind::Database, name, newest).await
}

/// Parses a number or a label. A digest would let a client verify a guessed password.
fn parse_selector(text: &str) -> Result<VersionSelector, ApiError> {
    match versions::mark(text)? {
        VersionSelector::Digest(_) => {
            let message = "versions of connections cannot be selected by digest";
            Err(problem(ErrorCode::HistoryMark, message).with_hint("use a number or a label"))
        }
        mark => Ok(mark),
    }
}

fn read(content: &DefinitionContent) -> Option<ConnectionDefinition> {
    serde_json::from_str(&content.text).ok()
}

fn unreadable(found: &ResolvedVersion) -> ApiError {
    let message = format!("{}: {UNREADABLE}", found.key);
    problem(ErrorCode::SqlInvalidDefinition, message)
}

/// Returns the definition as text with masked secrets.
fn masked(content: &DefinitionContent, has_other_secrets: bool) -> String {
    let Some(definition) = read(content) else {
        return format!("{UNREADABLE}\n");
    };
    let mut shown = serde_json::to_value(definition.masked()).unwrap_or_default();
    if let Tree::Object(members) = &mut shown
        && has_other_secrets
    {
        members.insert("secrets".to_owned(), "changed".into());
    }
    readable(&DefinitionContent::new(shown.to_string()))
}

fn has_other_secrets(from: &DefinitionContent, to: &DefinitionContent) -> bool {
    let (Some(from), Some(to)) = (read(from), read(to)) else {
        return false;
    };
    let (old, new) = (from.masked(), to.masked());
    // If the masked URLs are equal but the URLs are not, only the secret changed.
    let url = from.url != to.url && old.url == new.url;
    url || (from.ssh_config != to.ssh_config && old.ssh_config == new.ssh_config)
}
