//! Routes that list, move, remove and roll back labels.

use std::collections::BTreeMap;

use axum::response::Response;
use quillet_core::ErrorCode;
use quillet_core::history::{LabelTarget, Labels, TrafficSplit, VersionSelector};
use quillet_core::store::EntryKind;
use quillet_host::definitions::{LabelChange, Relabel};
use serde::{Deserialize, Deserializer};
use serde_json::Value as Tree;
use utoipa::ToSchema;

use super::response::AllLabels;
use super::write::RemoveParams;
use super::{DefinitionPath, VersionPath, mark};
use crate::api::body::JsonBody;
use crate::api::json_body;
use crate::error::{ApiError, ProblemDetails, problem};
use crate::extract::QueryParams;
use crate::request_context::RequestContext;

/// The target of a label: `version` or `versions`.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = LabelRequest)]
pub(crate) struct LabelBody {
    /// A version number, another label or `sha256:…`.
    #[schema(value_type = Option<Object>)]
    version: Option<Tree>,
    /// Weights by version number: `{"3": 90, "4": 10}`.
    #[schema(value_type = Option<Object>)]
    versions: Option<BTreeMap<String, u32>>,
    /// The key that assigns a request to one of `versions`: `user`, `session` or a variable.
    /// Without a key, each request is assigned at random.
    by: Option<String>,
    /// Mixed into the selection. Labels with the same salt select the same way.
    salt: Option<String>,
    /// The expected current target, as `GET` shows it: a number, an object with `versions`, or
    /// `null` if the label is not set.
    #[serde(default, deserialize_with = "deserialize_nullable")]
    #[schema(value_type = Option<Object>)]
    expect: Option<Tree>,
    /// The reason for the change.
    #[serde(default)]
    message: String,
}

/// Distinguishes `null` from a missing member.
fn deserialize_nullable<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Tree>, D::Error> {
    Tree::deserialize(deserializer).map(Some)
}

/// Lists the labels of a definition
#[utoipa::path(get, path = "/{kind}/{id}/labels", operation_id = "list_{kind}_labels", tag = "definitions",
    params(("id" = String, Path)), responses(
    (status = 200, body = AllLabels),
    (status = 404, body = ProblemDetails, content_type = "application/problem+json"),
))]
pub(crate) async fn list(
    call: RequestContext,
    DefinitionPath { kind, id }: DefinitionPath,
) -> Result<Response, ApiError> {
    let definitions = &call.app.definitions;
    let key = definitions.key(kind, &id).await?;
    let labels = definitions.labels(kind, &key).await?;
    answer(&call, kind, &id, &labels).await
}

/// Moves a label to a version, or splits it across several by weight
#[utoipa::path(put, path = "/{kind}/{id}/labels/{label}", operation_id = "put_{kind}_label", tag = "definitions",
    params(("id" = String, Path), ("label" = String, Path)), request_body = LabelBody, responses(
    (status = 200, body = AllLabels),
    (status = 403, body = ProblemDetails, content_type = "application/problem+json", description = "The label is protected, and the token lacks the permission `promote`"),
    (status = 404, body = ProblemDetails, content_type = "application/problem+json"),
    (status = 412, body = ProblemDetails, content_type = "application/problem+json", description = "The label does not point where `expect` says"),
))]
pub(crate) async fn put(
    call: RequestContext,
    part: VersionPath,
    JsonBody(body): JsonBody<LabelBody>,
) -> Result<Response, ApiError> {
    let expect = body.expect.clone().map(target).transpose()?;
    let message = body.message.clone();
    let wanted = label_change(body)?;
    relabel(&call, &part, wanted, expect, &message).await
}

/// Removes a label
#[utoipa::path(delete, path = "/{kind}/{id}/labels/{label}", operation_id = "delete_{kind}_label", tag = "definitions",
    params(("id" = String, Path), ("label" = String, Path), RemoveParams), responses(
    (status = 200, body = AllLabels, description = "The remaining labels"),
    (status = 403, body = ProblemDetails, content_type = "application/problem+json", description = "The label is protected, and the token lacks the permission `promote`"),
    (status = 404, body = ProblemDetails, content_type = "application/problem+json"),
))]
pub(crate) async fn delete(
    call: RequestContext,
    part: VersionPath,
    QueryParams(why): QueryParams<RemoveParams>,
) -> Result<Response, ApiError> {
    // A request to remove an unknown label probably has a typo, so it fails.
    let named = VersionSelector::Label(part.name.clone());
    let definitions = &call.app.definitions;
    definitions.find(part.kind, &part.id, Some(&named)).await?;
    relabel(&call, &part, LabelChange::Nowhere, None, &why.message).await
}

/// Rolls a label back to its previous version
#[utoipa::path(post, path = "/{kind}/{id}/labels/{label}/rollback", operation_id = "rollback_{kind}_label", tag = "definitions",
    params(("id" = String, Path), ("label" = String, Path), RemoveParams), responses(
    (status = 200, body = AllLabels),
    (status = 403, body = ProblemDetails, content_type = "application/problem+json", description = "The label is protected, and the token lacks the permission `promote`"),
    (status = 404, body = ProblemDetails, content_type = "application/problem+json", description = "Unknown definition or label, or no earlier version"),
))]
pub(crate) async fn rollback(
    call: RequestContext,
    part: VersionPath,
    QueryParams(why): QueryParams<RemoveParams>,
) -> Result<Response, ApiError> {
    let VersionPath { kind, id, name } = &part;
    let definitions = &call.app.definitions;
    let key = definitions.key(*kind, id).await?;
    let now = definitions.labels(*kind, &key).await?;
    let earlier = definitions.before(*kind, id, name).await?;
    let wanted = LabelChange::Target(LabelTarget::Version(earlier));
    // If the label moves in the meantime, the rollback fails and does not undo the other change.
    let expect = Some(now.get(name).cloned());
    let message = match why.message.as_str() {
        "" => format!("rolled back to {earlier}"),
        said => said.to_owned(),
    };
    relabel(&call, &part, wanted, expect, &message).await
}

async fn relabel(
    call: &RequestContext,
    VersionPath { kind, id, name }: &VersionPath,
    wanted: LabelChange,
    expect: Option<Option<LabelTarget>>,
    message: &str,
) -> Result<Response, ApiError> {
    let relabel = Relabel {
        kind: *kind,
        id,
        label: name,
        wanted,
        expect,
        message,
    };
    let definitions = &call.app.definitions;
    let labels = definitions.relabel(&call.actor(), relabel).await?;
    answer(call, *kind, id, &labels).await
}

async fn answer(
    call: &RequestContext,
    kind: EntryKind,
    id: &str,
    labels: &Labels,
) -> Result<Response, ApiError> {
    let newest = call.app.definitions.versions(kind, id, None, 1).await?;
    let newest = newest.first().filter(|newest| !newest.removed);
    json_body(&AllLabels::new(id, newest.map(|one| one.number), labels))
}

fn label_change(body: LabelBody) -> Result<LabelChange, ApiError> {
    let LabelBody { by, salt, .. } = body;
    match (body.version, body.versions) {
        (Some(version), None) if by.is_none() && salt.is_none() => match &version {
            Tree::String(text) => Ok(LabelChange::At(mark(text)?)),
            Tree::Number(number) => Ok(LabelChange::At(mark(&number.to_string())?)),
            _ => Err(wrong(
                "invalid version: expected a number, a label or sha256:DIGITS",
            )),
        },
        (None, Some(versions)) => {
            let read = |(number, weight): (String, u32)| match number.parse() {
                Ok(number) => Ok((number, weight)),
                Err(_) => Err(wrong(&format!(
                    "invalid version number {number:?} in versions"
                ))),
            };
            let versions = versions.into_iter().map(read);
            Ok(LabelChange::Target(LabelTarget::Split(TrafficSplit {
                versions: versions.collect::<Result<_, _>>()?,
                by,
                salt,
            })))
        }
        _ => Err(wrong(
            "expected either version, or versions with by and salt",
        )),
    }
}

fn target(expect: Tree) -> Result<Option<LabelTarget>, ApiError> {
    if expect.is_null() {
        return Ok(None);
    }
    let target = serde_json::from_value(expect);
    target
        .map(Some)
        .map_err(|error| wrong(&format!("expect: {error}")))
}

fn wrong(message: &str) -> ApiError {
    problem(ErrorCode::RequestBody, message).with_hint(
        "send {\"version\": 7}, or {\"versions\": {\"3\": 90, \"4\": 10}, \"by\": \"user\"}",
    )
}
