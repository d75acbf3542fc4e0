//! Routes that list, show and compare versions.

use axum::http::HeaderValue;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use quillet_core::history::{DefinitionContent, VersionSelector};
use quillet_core::store::EntryKind;
use quillet_host::definitions::{DefinitionError, ResolvedVersion, readable, unified};
use serde::{Deserialize, Serialize};
use serde_json::Value as Tree;
use utoipa::{IntoParams, ToSchema};

use super::response::{VersionResponse, has_secrets};
use super::{DefinitionPath, VersionPath, limit, tree};
use crate::api::json_body;
use crate::error::{ApiError, ProblemDetails};
use crate::extract::QueryParams;
use crate::request_context::RequestContext;

pub(crate) use super::mark;
pub(crate) use super::response::with_version_headers;

/// Default number of entries per page.
const USUAL: usize = 50;

/// Query parameters of a list of versions.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct VersionsQuery {
    /// Only versions with a lower number. Use `next` of the previous page.
    before: Option<u64>,
    /// Versions per page, from 1 to 1000. Default: 50.
    limit: Option<usize>,
}

/// A page of the versions of a definition.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Versions {
    /// The id of the definition.
    id: String,
    /// The versions, newest first.
    versions: Vec<VersionResponse>,
    /// The value of `before` for the next page, if there may be one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<u64>,
}

/// A version with its definition.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct VersionDetail {
    /// The id of the definition.
    id: String,
    /// The version.
    #[serde(flatten)]
    version: VersionResponse,
    /// The definition in this version, or a string if it is not JSON.
    definition: Tree,
    /// The name of the prompt file, if the definition was read from one.
    #[serde(skip_serializing_if = "String::is_empty")]
    file: String,
}

/// Query parameters of a comparison.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct CompareQuery {
    /// A version number, a label or `sha256:…`. Default: the version before `to`.
    pub(crate) from: Option<String>,
    /// A version number, a label or `sha256:…`. Default: `latest`.
    pub(crate) to: Option<String>,
}

/// Lists the versions of a definition, newest first, even if it was removed
#[utoipa::path(get, path = "/{kind}/{id}/versions", operation_id = "list_{kind}_versions", tag = "definitions",
    params(("id" = String, Path), VersionsQuery), responses(
    (status = 200, body = Versions),
    (status = 404, body = ProblemDetails, content_type = "application/problem+json"),
))]
pub(crate) async fn list(
    call: RequestContext,
    DefinitionPath { kind, id }: DefinitionPath,
    QueryParams(page): QueryParams<VersionsQuery>,
) -> Result<Response, ApiError> {
    list_page(&call, kind, &id, &page).await
}

/// Returns a page of the versions of a definition.
pub(crate) async fn list_page(
    call: &RequestContext,
    kind: EntryKind,
    id: &str,
    page: &VersionsQuery,
) -> Result<Response, ApiError> {
    let limit = limit(page.limit, USUAL)?;
    let definitions = &call.app.definitions;
    let versions = definitions.versions(kind, id, page.before, limit).await?;
    let key = definitions.key(kind, id).await?;
    let labels = definitions.labels(kind, &key).await?;
    let shown = versions.iter().enumerate().map(|(place, version)| {
        let is_latest = place == 0 && page.before.is_none();
        VersionResponse::new(kind, version, &labels, is_latest)
    });
    let last = versions.last().filter(|last| last.number > 1);
    json_body(&Versions {
        id: id.to_owned(),
        versions: shown.collect(),
        next: last
            .filter(|_| versions.len() == limit)
            .map(|last| last.number),
    })
}

/// Returns a version by its number, its label, or `sha256:` and at least eight digits
#[utoipa::path(get, path = "/{kind}/{id}/versions/{mark}", operation_id = "get_{kind}_version", tag = "definitions",
    params(("id" = String, Path), ("mark" = String, Path)), responses(
    (status = 200, body = VersionDetail),
    (status = 404, body = ProblemDetails, content_type = "application/problem+json"),
))]
pub(crate) async fn get(call: RequestContext, part: VersionPath) -> Result<Response, ApiError> {
    let VersionPath { kind, id, name } = part;
    let whole = |content: &DefinitionContent| tree(&content.text);
    version_response(&call, kind, &id, &mark(&name)?, whole).await
}

/// Returns a version in the form shown to clients.
pub(crate) async fn version_response(
    call: &RequestContext,
    kind: EntryKind,
    id: &str,
    mark: &VersionSelector,
    show: impl Fn(&DefinitionContent) -> Tree,
) -> Result<Response, ApiError> {
    let definitions = &call.app.definitions;
    let (found, version) = definitions.ensure_version(kind, id, mark).await?;
    let newest = definitions.versions(kind, id, None, 1).await?;
    let is_latest = newest.first().map(|newest| newest.number) == Some(version.number);
    let response = json_body(&VersionDetail {
        id: id.to_owned(),
        version: VersionResponse::new(kind, &version, &found.labels, is_latest),
        definition: show(&found.content),
        file: found.content.file.to_string(),
    })?;
    let text = (!has_secrets(kind)).then_some(&*found.content.text);
    Ok(with_version_headers(response, Some(version.number), text))
}

/// Compares two versions in unified diff format
///
/// Each member of a definition and each line of a text is a separate line.
#[utoipa::path(get, path = "/{kind}/{id}/diff", operation_id = "diff_{kind}", tag = "definitions",
    params(("id" = String, Path), CompareQuery), responses(
    (status = 200, body = String, content_type = "text/plain; charset=utf-8"),
    (status = 404, body = ProblemDetails, content_type = "application/problem+json"),
))]
pub(crate) async fn diff(
    call: RequestContext,
    DefinitionPath { kind, id }: DefinitionPath,
    QueryParams(sides): QueryParams<CompareQuery>,
) -> Result<Response, ApiError> {
    let [from, to] = &self::resolve_sides(&call, kind, &id, &sides).await?;
    let text = unified(
        &from.0,
        &readable(&from.1.content),
        &to.0,
        &readable(&to.1.content),
    );
    Ok(plain(text))
}

/// Returns the two versions to compare, each with its id and version selector.
pub(crate) async fn resolve_sides(
    call: &RequestContext,
    kind: EntryKind,
    id: &str,
    sides: &CompareQuery,
) -> Result<[(String, ResolvedVersion); 2], ApiError> {
    let definitions = &call.app.definitions;
    let to = mark(sides.to.as_deref().unwrap_or("latest"))?;
    let to_found = definitions.find(kind, id, Some(&to)).await?;
    let from = match &sides.from {
        Some(from) => mark(from)?,
        None => {
            let version = to_found.version.as_ref();
            previous_version(call, kind, id, version.map(|version| version.number)).await?
        }
    };
    let from_found = definitions.find(kind, id, Some(&from)).await?;
    let name = |mark: &VersionSelector| format!("{id}@{mark}");
    Ok([(name(&from), from_found), (name(&to), to_found)])
}

/// Returns a plain text response.
pub(crate) fn plain(text: String) -> Response {
    let mut response = text.into_response();
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, plain);
    response
}

/// Returns the version before another one.
pub(crate) async fn previous_version(
    call: &RequestContext,
    kind: EntryKind,
    id: &str,
    number: Option<u64>,
) -> Result<VersionSelector, ApiError> {
    let older = call.app.definitions.versions(kind, id, number, USUAL);
    let older = older.await?.into_iter().find(|version| !version.removed);
    let none = || DefinitionError::Version {
        id: id.to_owned(),
        wanted: "before it".to_owned(),
        newest: String::new(),
    };
    Ok(VersionSelector::Number(older.ok_or_else(none)?.number))
}
