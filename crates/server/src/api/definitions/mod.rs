//! Routes for definitions of every kind: writes, removals, versions and labels. One handler per
//! operation serves all kinds, and `{kind}` in its path is the kind that it is mounted for.
//!
//! Permissions and checks are in [`quillet_host::definitions`].

mod body;
pub(crate) mod check;
mod expect;
pub(crate) mod labels;
pub(crate) mod log;
mod response;
pub(crate) mod versions;
pub(crate) mod write;

use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;
use quillet_core::history::VersionSelector;
use quillet_core::store::EntryKind;
use quillet_core::{Diagnostic, ErrorCode, Severity};
use quillet_host::definitions::DefinitionError;
use serde_json::Value as Tree;

use crate::error::{ApiError, problem};
use crate::request_context::RouteState;

pub(super) use response::with_version_headers;

/// The maximum number of entries per page.
const MOST_LINES: usize = 1000;

/// The definition that a path selects.
#[derive(Debug)]
pub(crate) struct DefinitionPath {
    kind: EntryKind,
    id: String,
}

/// The definition and the version or label that a path selects.
#[derive(Debug)]
pub(crate) struct VersionPath {
    kind: EntryKind,
    id: String,
    /// The last segment of the path, or the one before `rollback`.
    name: String,
}

impl FromRequestParts<RouteState> for DefinitionPath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, at: &RouteState) -> Result<Self, ApiError> {
        let super::Id(id) = super::Id::from_request_parts(parts, at).await?;
        Ok(DefinitionPath {
            kind: kind(at)?,
            id,
        })
    }
}

impl FromRequestParts<RouteState> for VersionPath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, at: &RouteState) -> Result<Self, ApiError> {
        let path = Path::<(String, String)>::from_request_parts(parts, at).await;
        let Ok(Path((id, name))) = path else {
            let message = "the id or the name in the path is not UTF-8";
            return Err(problem(ErrorCode::RequestPath, message).with_hint("percent-encode it"));
        };
        Ok(VersionPath {
            kind: kind(at)?,
            id,
            name,
        })
    }
}

fn kind(at: &RouteState) -> Result<EntryKind, ApiError> {
    let none = || problem(ErrorCode::ServerDefect, "the route is mounted for no kind");
    at.kind.ok_or_else(none)
}

/// Parses a version selector without an id.
pub(crate) fn mark(text: &str) -> Result<VersionSelector, ApiError> {
    let wrong = |why| DefinitionError::Mark {
        text: text.to_owned(),
        why,
    };
    Ok(VersionSelector::parse(text).map_err(wrong)?)
}

/// Returns the number of entries per page.
fn limit(given: Option<usize>, usual: usize) -> Result<usize, ApiError> {
    match given.unwrap_or(usual) {
        limit @ 1..=MOST_LINES => Ok(limit),
        limit => {
            let message = format!("invalid limit {limit}: expected 1 to {MOST_LINES}");
            Err(problem(ErrorCode::RequestQuery, message).with_param("limit"))
        }
    }
}

/// Parses a stored text as JSON, or returns it as a string if it is not JSON.
pub(super) fn tree(text: &str) -> Tree {
    serde_json::from_str(text).unwrap_or_else(|_| Tree::from(text))
}

/// Returns `valid` or `invalid` for these diagnostics.
pub(super) fn status(found: &[Diagnostic]) -> &'static str {
    let is_broken = found.iter().any(|one| one.severity == Severity::Error);
    if is_broken { "invalid" } else { "valid" }
}
