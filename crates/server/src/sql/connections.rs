//! Routes that list, write, show, remove and test connections.

use std::time::Instant;

use axum::http::StatusCode;
use axum::response::Response;
use quillet_core::ErrorCode;
use quillet_core::history::Action;
use quillet_core::store::EntryKind;
use quillet_host::definitions::{Actor, Permission};
use quillet_sql::{Connection, ConnectionDefinition, PutResult, SqlError};
use serde::Serialize;
use utoipa::ToSchema;

use super::served::databases;
use crate::api::{Id, json_body};
use crate::error::{ApiError, ProblemDetails, problem};
use crate::extract::{MaybeBody, RequiredJson};
use crate::request_context::RequestContext;
use crate::requirements::{RouteRequirements, WRITE};

/// All connections.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Connections {
    /// The connections, ordered by name, with masked passwords.
    #[schema(value_type = Vec<Object>)]
    databases: Vec<Connection>,
}

/// A written connection.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct PutConnection {
    /// The connection with its password masked.
    #[serde(flatten)]
    #[schema(value_type = Object)]
    connection: Connection,
    /// Whether the connection is new.
    created: bool,
    /// Privileges of the role beyond reading, one sentence each.
    warnings: Vec<String>,
}

impl From<PutResult> for PutConnection {
    fn from(put: PutResult) -> Self {
        PutConnection {
            connection: put.connection,
            created: put.created,
            warnings: put.warnings,
        }
    }
}

/// The result of a connection test.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Tried)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ConnectionTest {
    /// Always `true`. A failed test returns an error.
    ok: bool,
    /// The version that the server reports.
    version: String,
    /// Privileges of the role beyond reading, one sentence each.
    warnings: Vec<String>,
    /// The duration of the test in milliseconds.
    execution_time_ms: u64,
}

/// Lists all connections by name, with masked passwords
#[utoipa::path(get, path = "/dbs", operation_id = "list_databases", tag = "databases", responses(
    (status = 200, body = Connections),
    (status = 503, body = ProblemDetails, content_type = "application/problem+json", description = "The store is unavailable"),
))]
pub(crate) async fn list(call: RequestContext) -> Result<Response, ApiError> {
    let mut databases = databases(&call)?.list().await?;
    databases.retain(|database| call.rights().has(Permission::Read, &database.name));
    json_body(&Connections { databases })
}

/// Writes a connection
///
/// Members: `url` (`postgresql://…`, `mysql://…`, `sqlite:…`), `sslDisabled`, `sshConfig`,
/// `description`, `glossary`, `values`. The database must respond; its tables are read in the
/// background.
#[utoipa::path(put, path = "/dbs/{name}", operation_id = "put_database", tag = "databases",
    params(("name" = String, Path)), request_body = Object, responses(
    (status = 200, body = PutConnection),
    (status = 400, body = ProblemDetails, content_type = "application/problem+json", description = "Invalid name or address"),
    (status = 403, body = ProblemDetails, content_type = "application/problem+json", description = "Clients cannot change connections on this server"),
    (status = 422, body = ProblemDetails, content_type = "application/problem+json", description = "Invalid body"),
    (status = 503, body = ProblemDetails, content_type = "application/problem+json", description = "The database cannot be reached"),
))]
pub(crate) async fn put(
    call: RequestContext,
    Id(name): Id,
    RequiredJson(definition): RequiredJson<ConnectionDefinition>,
) -> Result<Response, ApiError> {
    require_changes_allowed(&call)?;
    let actor = call.actor();
    let put = databases(&call)?
        .put_as(&name, definition, &actor.name, "")
        .await?;
    record_change(&call, &actor, Action::Write, &name, put.version, "").await;
    update_tools(&call).await;
    json_body(&PutConnection::from(put))
}

/// Returns a connection with its password masked
#[utoipa::path(get, path = "/dbs/{name}", operation_id = "get_database", tag = "databases",
    params(("name" = String, Path)), responses(
    (status = 200, body = Object),
    (status = 404, body = ProblemDetails, content_type = "application/problem+json"),
))]
pub(crate) async fn get(call: RequestContext, Id(name): Id) -> Result<Response, ApiError> {
    json_body(&databases(&call)?.get(&name).await?)
}

/// Deletes a connection, its cached tables and its query history
#[utoipa::path(delete, path = "/dbs/{name}", operation_id = "delete_database", tag = "databases",
    params(("name" = String, Path)), responses(
    (status = 204, description = "Deleted"),
    (status = 403, body = ProblemDetails, content_type = "application/problem+json", description = "Clients cannot change connections on this server"),
    (status = 404, body = ProblemDetails, content_type = "application/problem+json"),
))]
pub(crate) async fn delete(call: RequestContext, Id(name): Id) -> Result<StatusCode, ApiError> {
    require_changes_allowed(&call)?;
    let databases = databases(&call)?;
    let actor = call.actor();
    let Some(removed) = databases.remove_as(&name, &actor.name).await? else {
        databases.get(&name).await?;
        return Err(ApiError::from(SqlError::NotFound {
            what: "database",
            name,
            nearest: None,
        }));
    };
    record_change(&call, &actor, Action::Remove, &name, removed.version, "").await;
    update_tools(&call).await;
    Ok(StatusCode::NO_CONTENT)
}

/// Tests the stored connection, or the one in the body, without storing anything
#[utoipa::path(post, path = "/dbs/{name}/test", operation_id = "test_database", tag = "databases",
    params(("name" = String, Path)), request_body = Option<Object>, responses(
    (status = 200, body = ConnectionTest),
    (status = 400, body = ProblemDetails, content_type = "application/problem+json", description = "Invalid address"),
    (status = 403, body = ProblemDetails, content_type = "application/problem+json", description = "Clients cannot name addresses on this server"),
    (status = 404, body = ProblemDetails, content_type = "application/problem+json"),
    (status = 503, body = ProblemDetails, content_type = "application/problem+json", description = "The database cannot be reached"),
))]
pub(crate) async fn test(
    call: RequestContext,
    Id(name): Id,
    MaybeBody(definition): MaybeBody<ConnectionDefinition>,
) -> Result<Response, ApiError> {
    let started = Instant::now();
    let checked = match definition {
        Some(definition) => {
            require_changes_allowed(&call)?;
            // The route only requires `render`, which suffices to test a stored connection. An
            // address in the body gives as much power as a write, so it needs the write permission.
            call.check_requirements(RouteRequirements::Of(WRITE, EntryKind::Database), &name)
                .await?;
            databases(&call)?.test(&definition).await?
        }
        None => databases(&call)?.test_known(&name).await?,
    };
    let taken = started.elapsed().as_millis();
    json_body(&ConnectionTest {
        ok: true,
        version: checked.version,
        warnings: checked.warnings,
        execution_time_ms: u64::try_from(taken).unwrap_or(u64::MAX),
    })
}

/// Records the change if the store has a history. Definitions contain passwords, so the record does
/// not include them.
pub(super) async fn record_change(
    call: &RequestContext,
    actor: &Actor,
    action: Action,
    name: &str,
    version: Option<u64>,
    message: &str,
) {
    if version.is_none() {
        return;
    }
    let definitions = &call.app.definitions;
    definitions
        .record(actor, action, EntryKind::Database, name, version, message)
        .await;
}

/// Checks that clients may change databases.
pub(super) fn require_changes_allowed(call: &RequestContext) -> Result<(), ApiError> {
    if call.app.may_change_databases() {
        return Ok(());
    }
    let message =
        "clients cannot change connections, name addresses or accept queries on this server";
    let fix = "set server.tokens or [server.token.NAME], or set server.change_databases to permit \
               every client";
    Err(problem(ErrorCode::SqlFixed, message).with_hint(fix))
}

/// Updates the tools of the databases. The connection is saved even if this fails, because the
/// tools follow the store later.
pub(super) async fn update_tools(call: &RequestContext) {
    let Some(tools) = &call.app.databases else {
        return;
    };
    if let Err(error) = tools.offer().await {
        tracing::warn!(%error, "cannot update the tools of databases");
    }
}
