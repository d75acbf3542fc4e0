//! Routes that write and remove definitions.

use axum::extract::Request;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use quillet_core::history::{DefinitionContent, VersionSelector, WritePrecondition};
use quillet_core::store::{EntryKind, StoreErrorKind};
use quillet_core::{Diagnostic, ErrorCode};
use quillet_host::definitions::{DefinitionError, Write, WriteResult};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Tree};
use utoipa::{IntoParams, ToSchema};

use super::response::{VersionResponse, with_version_headers};
use super::{DefinitionPath, body, expect};
use crate::api::json_body;
use crate::error::{ApiError, ProblemDetails, problem};
use crate::extract::QueryParams;
use crate::request_context::RequestContext;

/// The maximum number of attempts to apply a patch while other writers interfere.
const ATTEMPTS: usize = 8;

/// Query parameters of a write.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct WriteParams {
    /// The message of the version, such as the reason for the change.
    #[serde(default)]
    message: String,
    /// Labels to move to the new version, separated by commas.
    label: Option<String>,
    /// `allow` writes the definition even if it is invalid.
    broken: Option<String>,
}

/// Query parameters of a removal or a rollback.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct RemoveParams {
    /// The reason for the change.
    #[serde(default)]
    pub(super) message: String,
}

/// The result of a write.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct WrittenDefinition {
    /// The id of the definition.
    id: String,
    /// The newest version.
    #[serde(flatten)]
    version: VersionResponse,
    /// Whether this request created that version; `false` if the definition was unchanged.
    new: bool,
    /// Errors and warnings about the definition.
    #[schema(value_type = Vec<Object>)]
    diagnostics: Vec<Diagnostic>,
}

/// Replaces a definition after the checks of `quillet check`
///
/// An identical definition creates no new version. `If-Match` and `If-None-Match: *` are
/// preconditions.
#[utoipa::path(put, path = "/{kind}/{id}", operation_id = "put_{kind}", tag = "definitions",
    params(("id" = String, Path), WriteParams, body::DefinitionFormatQuery), request_body = Object, responses(
    (status = 200, body = WrittenDefinition),
    (status = 201, body = WrittenDefinition, description = "Created"),
    (status = 412, body = ProblemDetails, content_type = "application/problem+json", description = "The precondition failed"),
    (status = 422, body = ProblemDetails, content_type = "application/problem+json", description = "The definition is invalid"),
))]
pub(crate) async fn put(
    call: RequestContext,
    named: DefinitionPath,
    QueryParams(said): QueryParams<WriteParams>,
    QueryParams(form): QueryParams<body::DefinitionFormatQuery>,
    request: Request,
) -> Result<Response, ApiError> {
    replace(&call, named, said, form, request, false).await
}

/// Writes a definition as a new version, even if it is unchanged
#[utoipa::path(post, path = "/{kind}/{id}", operation_id = "post_{kind}", tag = "definitions",
    params(("id" = String, Path), WriteParams, body::DefinitionFormatQuery), request_body = Object, responses(
    (status = 200, body = WrittenDefinition),
    (status = 201, body = WrittenDefinition, description = "Created"),
    (status = 412, body = ProblemDetails, content_type = "application/problem+json", description = "The precondition failed"),
    (status = 422, body = ProblemDetails, content_type = "application/problem+json", description = "The definition is invalid"),
))]
pub(crate) async fn post(
    call: RequestContext,
    named: DefinitionPath,
    QueryParams(said): QueryParams<WriteParams>,
    QueryParams(form): QueryParams<body::DefinitionFormatQuery>,
    request: Request,
) -> Result<Response, ApiError> {
    replace(&call, named, said, form, request, true).await
}

async fn replace(
    call: &RequestContext,
    DefinitionPath { kind, id }: DefinitionPath,
    said: WriteParams,
    form: body::DefinitionFormatQuery,
    request: Request,
    always: bool,
) -> Result<Response, ApiError> {
    let expect = expect::expected(call, request.headers(), kind, &id).await?;
    let content = body::definition(call, kind, &id, &form, request).await?;
    let text = content.text.clone();
    let labels = said.labels();
    let write = Write {
        content,
        message: &said.message,
        expect,
        always,
        labels: &labels,
        broken: said.takes_broken(),
        ..Write::new(kind, &id, "")
    };
    let written = call.app.definitions.write(&call.actor(), write).await?;
    answer(kind, &id, written, Some(&text))
}

/// Merges the body into the newest definition (RFC 7386: `null` removes a member)
///
/// Without `If-Match`, changes by other writers are kept and the patch is applied on top.
#[utoipa::path(patch, path = "/{kind}/{id}", operation_id = "patch_{kind}", tag = "definitions",
    params(("id" = String, Path), WriteParams), request_body = Object, responses(
    (status = 200, body = WrittenDefinition),
    (status = 404, body = ProblemDetails, content_type = "application/problem+json"),
    (status = 412, body = ProblemDetails, content_type = "application/problem+json", description = "The precondition failed"),
    (status = 422, body = ProblemDetails, content_type = "application/problem+json", description = "The resulting definition would be invalid"),
))]
pub(crate) async fn patch(
    call: RequestContext,
    DefinitionPath { kind, id }: DefinitionPath,
    QueryParams(said): QueryParams<WriteParams>,
    request: Request,
) -> Result<Response, ApiError> {
    let wanted = expect::expected(&call, request.headers(), kind, &id).await?;
    let changes = body::changes(&call, request).await?;
    let labels = said.labels();
    let (definitions, actor) = (&call.app.definitions, call.actor());
    let latest = VersionSelector::latest();
    let mut left = ATTEMPTS;
    loop {
        let found = definitions.find(kind, &id, Some(&latest)).await?;
        let text = merged(&id, &found.content, changes.clone())?;
        let write = Write {
            message: &said.message,
            expect: match wanted {
                WritePrecondition::Anything => WritePrecondition::Digest(found.content.digest()),
                bound => bound,
            },
            labels: &labels,
            broken: said.takes_broken(),
            ..Write::new(kind, &id, text.as_str())
        };
        left -= 1;
        match definitions.write(&actor, write).await {
            // Another writer was faster, so apply the patch to its version. With `If-Match` the
            // client expects an error instead.
            Err(error) if is_lost(&error) && wanted == WritePrecondition::Anything && left > 0 => {}
            done => return answer(kind, &id, done?, Some(&text)),
        }
    }
}

fn is_lost(error: &DefinitionError) -> bool {
    matches!(error, DefinitionError::Store(error) if error.kind == StoreErrorKind::Conflict)
}

fn merged(
    id: &str,
    content: &DefinitionContent,
    changes: Map<String, Tree>,
) -> Result<String, ApiError> {
    let Ok(mut own) = serde_json::from_str::<Map<String, Tree>>(&content.text) else {
        let message =
            format!("{id} is stored as text, so its members cannot be changed one by one");
        return Err(problem(ErrorCode::RequestBody, message).with_hint("replace it with PUT"));
    };
    body::merge(&mut own, changes);
    Ok(Tree::from(own).to_string())
}

/// Removes a definition with all of its labels
///
/// Its versions stay, so it can be restored.
#[utoipa::path(delete, path = "/{kind}/{id}", operation_id = "delete_{kind}", tag = "definitions",
    params(("id" = String, Path), RemoveParams), responses(
    (status = 200, body = WrittenDefinition, description = "The version that records the removal"),
    (status = 404, body = ProblemDetails, content_type = "application/problem+json"),
    (status = 412, body = ProblemDetails, content_type = "application/problem+json", description = "The precondition failed"),
))]
pub(crate) async fn delete(
    call: RequestContext,
    DefinitionPath { kind, id }: DefinitionPath,
    QueryParams(why): QueryParams<RemoveParams>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let expect = expect::expected(&call, &headers, kind, &id).await?;
    let (definitions, actor) = (&call.app.definitions, call.actor());
    let removed = definitions.remove(&actor, kind, &id, &why.message, expect);
    let written = WriteResult {
        created: false,
        committed: removed.await?,
        diagnostics: Vec::new(),
    };
    answer(kind, &id, written, None)
}

impl WriteParams {
    fn labels(&self) -> Vec<String> {
        let labels = self.label.as_deref().unwrap_or_default().split(',');
        let labels = labels.map(str::trim).filter(|label| !label.is_empty());
        labels.map(str::to_owned).collect()
    }

    fn takes_broken(&self) -> bool {
        self.broken.as_deref() == Some("allow")
    }
}

fn answer(
    kind: EntryKind,
    id: &str,
    written: WriteResult,
    text: Option<&str>,
) -> Result<Response, ApiError> {
    let committed = written.committed;
    let number = committed.version.number;
    let mut response = json_body(&WrittenDefinition {
        id: id.to_owned(),
        version: VersionResponse::new(kind, &committed.version, &committed.labels, true),
        new: committed.is_new,
        diagnostics: written.diagnostics,
    })?;
    if written.created {
        *response.status_mut() = StatusCode::CREATED;
    }
    Ok(with_version_headers(response, Some(number), text))
}
