//! The audit log of definitions.

use axum::response::Response;
use jiff::Timestamp;
use quillet_core::ErrorCode;
use quillet_core::history::{Action, LogEntry, LogFilter};
use quillet_core::store::EntryKind;
use quillet_host::definitions::Permission;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::limit;
use super::response::time;
use crate::api::json_body;
use crate::error::{ApiError, ProblemDetails, problem};
use crate::extract::QueryParams;
use crate::request_context::RequestContext;

/// Default number of entries per page.
const USUAL: usize = 100;

/// Query parameters of the audit log.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct LogQuery {
    /// Only entries for one kind: `prompt`, `tool`, `extension`, `agent` or `database`.
    kind: Option<String>,
    /// Only entries for the definition with this id.
    id: Option<String>,
    /// Only entries of this author.
    who: Option<String>,
    /// Only entries with a lower number. Use `next` of the previous page.
    before: Option<u64>,
    /// Entries per page, from 1 to 1000. Default: 100.
    limit: Option<usize>,
}

/// A page of the audit log.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Log)]
pub(crate) struct LogResponse {
    /// The entries, newest first.
    lines: Vec<AuditLogItem>,
    /// The value of `before` for the next page, if there may be one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<u64>,
}

/// An action on a definition, or a rejected one.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = LogLine)]
pub(crate) struct AuditLogItem {
    /// The number of the entry. Later entries have higher numbers.
    number: u64,
    /// The time in RFC 3339 format.
    #[schema(value_type = String)]
    at: Timestamp,
    /// The author: the name of a token, a user of this machine, or `anonymous`.
    who: String,
    /// The origin: an address or `command line`.
    from: String,
    /// `write`, `remove`, `label`, `import`, `collect` or `refused`.
    action: &'static str,
    /// The kind of the definition, absent if a rejected request did not name one.
    #[serde(skip_serializing_if = "String::is_empty")]
    kind: String,
    /// The id of the definition, absent under the same condition as `kind`.
    #[serde(skip_serializing_if = "String::is_empty")]
    id: String,
    /// The version that was created or that the label now points to.
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<u64>,
    /// The label that was moved.
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<String>,
    /// The reason for the change, or the rejected action.
    #[serde(skip_serializing_if = "String::is_empty")]
    message: String,
}

impl From<LogEntry> for AuditLogItem {
    fn from(entry: LogEntry) -> Self {
        AuditLogItem {
            number: entry.number,
            at: time(entry.at_ms),
            who: entry.who.to_string(),
            from: entry.from.to_string(),
            action: Action::name(entry.action),
            kind: entry.kind.to_string(),
            id: entry.id.to_string(),
            version: entry.version,
            label: entry.label.map(|label| label.to_string()),
            message: entry.message.to_string(),
        }
    }
}

/// Returns the audit log, newest first, including rejected requests
///
/// Requires `admin` for everything, or for the definition with this `id`.
#[utoipa::path(get, path = "/log", operation_id = "read_log", tag = "definitions", params(LogQuery), responses(
    (status = 200, body = LogResponse),
    (status = 501, body = ProblemDetails, content_type = "application/problem+json", description = "The store keeps no history"),
))]
pub(crate) async fn read(
    call: RequestContext,
    QueryParams(asked): QueryParams<LogQuery>,
) -> Result<Response, ApiError> {
    let limit = limit(asked.limit, USUAL)?;
    let known = asked.kind.as_deref().map(kind).transpose()?;
    let is_own = |id: &str| call.rights().has(Permission::Admin, id);
    if !asked.id.as_deref().is_some_and(is_own) {
        call.require_everywhere(Permission::Admin).await?;
    }
    let filter = LogFilter {
        kind: known.map(|kind| kind.word().into()),
        id: asked.id.map(Into::into),
        who: asked.who.map(Into::into),
    };
    let lines = call.app.definitions.log(&filter, asked.before, limit);
    let lines = lines.await?;
    let last = lines.last().map(|line| line.number);
    json_body(&LogResponse {
        // Number 1 is the first entry of the log, so no older entries follow.
        next: last.filter(|number| lines.len() == limit && *number > 1),
        lines: lines.into_iter().map(AuditLogItem::from).collect(),
    })
}

fn kind(word: &str) -> Result<EntryKind, ApiError> {
    let mut kinds = EntryKind::ALL
        .into_iter()
        .filter(|kind| kind.has_versions());
    let wrong = || {
        let message = format!("unknown kind {word:?}");
        problem(ErrorCode::RequestQuery, message)
            .with_param("kind")
            .with_hint("expected prompt, tool, extension, agent or database")
    };
    kinds.find(|kind| kind.word() == word).ok_or_else(wrong)
}
