//! Response formats of versions and labels.

use std::collections::BTreeMap;

use axum::http::{HeaderName, HeaderValue};
use axum::response::Response;
use jiff::Timestamp;
use quillet_core::history::{LATEST, Labels, Version};
use quillet_core::store::EntryKind;
use quillet_prompt::Revision;
use serde::Serialize;
use serde_json::Value as Tree;
use utoipa::ToSchema;

/// Response header: the number of a version.
static VERSION: HeaderName = HeaderName::from_static("quillet-version");

/// One version.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = DefinitionVersion)]
pub(crate) struct VersionResponse {
    /// The number of the version, from 1.
    version: u64,
    /// `sha256:` and 64 hexadecimal digits, computed from the definition in canonical form. Absent
    /// for database connections, because the digest would help to guess the password.
    #[serde(skip_serializing_if = "Option::is_none")]
    digest: Option<String>,
    /// The version that this one is based on.
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<u64>,
    /// The author: the name of a token, `store` for a write made directly in the store, or
    /// `anonymous` if no tokens are configured.
    author: String,
    /// The reason for the change.
    #[serde(skip_serializing_if = "String::is_empty")]
    message: String,
    /// The time of creation in RFC 3339 format.
    #[schema(value_type = String)]
    created: Timestamp,
    /// The size of the texts in bytes, absent for database connections.
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
    /// Whether the definition was removed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    removed: bool,
    /// The labels that point only to this version. The newest version also has `latest`.
    labels: Vec<String>,
}

impl VersionResponse {
    /// Creates the response. `is_latest` is true if this version is the current definition.
    pub(super) fn new(
        kind: EntryKind,
        version: &Version,
        labels: &Labels,
        is_latest: bool,
    ) -> Self {
        // The digest and length of a connection would help to guess its password.
        let is_open = !has_secrets(kind);
        let own = labels.labels_at(version.number).map(str::to_owned);
        let latest = (is_latest && !version.removed).then(|| LATEST.to_owned());
        VersionResponse {
            version: version.number,
            digest: is_open.then(|| format!("sha256:{}", version.digest)),
            parent: version.parent,
            author: version.author.to_string(),
            message: version.message.to_string(),
            created: time(version.created_ms),
            bytes: is_open.then_some(version.bytes),
            removed: version.removed,
            labels: own.chain(latest).collect(),
        }
    }
}

/// Returns whether definitions of a kind hold secrets, so that details of their texts must stay
/// hidden.
pub(super) fn has_secrets(kind: EntryKind) -> bool {
    kind == EntryKind::Database
}

/// Converts a time in milliseconds since 1970.
pub(super) fn time(milliseconds: u64) -> Timestamp {
    let milliseconds = i64::try_from(milliseconds).unwrap_or(i64::MAX);
    Timestamp::from_millisecond(milliseconds).unwrap_or_default()
}

/// The labels of a definition.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = DefinitionLabels)]
pub(crate) struct AllLabels {
    /// The id of the definition.
    id: String,
    /// The newest version, absent if the store does not store versions.
    #[serde(skip_serializing_if = "Option::is_none")]
    latest: Option<u64>,
    /// Each label with a version number, or with `versions` (weights by number), `by` and `salt`.
    #[schema(value_type = Object)]
    labels: BTreeMap<String, Tree>,
}

impl AllLabels {
    pub(super) fn new(id: &str, latest: Option<u64>, labels: &Labels) -> Self {
        let written = labels.0.iter().map(|(name, target)| {
            let target = serde_json::to_value(target).unwrap_or_default();
            (name.clone(), target)
        });
        AllLabels {
            id: id.to_owned(),
            latest,
            labels: written.collect(),
        }
    }
}

/// Adds headers with the version and the revision of a definition.
pub(crate) fn with_version_headers(
    mut response: Response,
    version: Option<u64>,
    text: Option<&str>,
) -> Response {
    if let Some(version) = version {
        let headers = response.headers_mut();
        headers.insert(&VERSION, HeaderValue::from(version));
    }
    match text {
        Some(text) => {
            crate::revision::set_revision_header(
                response.headers_mut(),
                &Revision::of(text.as_bytes()).digits(),
            );
            response
        }
        None => response,
    }
}
