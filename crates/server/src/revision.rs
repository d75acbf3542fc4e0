//! Revisions in requests and responses.
//!
//! The revision of a definition is a prefix of the SHA-256 of its stored text, so every writer can
//! compute it. If a request requires a revision, the server checks its snapshot, reads changes from
//! the store, and waits for a limited time.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{FromRequestParts, Query};
use axum::http::header::{ETAG, IF_NONE_MATCH};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::Response;
use quillet_core::ErrorCode;
use quillet_prompt::{CatalogueSnapshot, Revision, ServiceError};
use serde::{Deserialize, Serialize};
use tokio::time::{sleep, timeout};
use utoipa::IntoParams;

use crate::api::{json_response, to_json};
use crate::app::App;
use crate::error::{ApiError, problem};

/// Response header: the revision of the definition.
static REVISION: HeaderName = HeaderName::from_static("quillet-revision");
/// Response header: the number of the version that was used.
static VERSION: HeaderName = HeaderName::from_static("quillet-version");
/// Request header: the revision that the response must have, or `latest`.
static LEAST: HeaderName = HeaderName::from_static("quillet-min-revision");

/// The pause between two checks of the store.
const PAUSE: Duration = Duration::from_millis(20);

/// The minimum revision of a response.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct MinRevision {
    /// The revision of the definition, as in `Quillet-Revision`: the first 32 hexadecimal digits of
    /// the SHA-256 of its stored text. `latest` requires everything written before this request.
    /// The header `Quillet-Min-Revision` has the same meaning.
    min_revision: Option<String>,
}

/// The preconditions of a request on revisions.
#[derive(Debug, Default)]
pub(crate) struct RevisionPreconditions {
    least: Option<RequiredRevision>,
    /// Entity tags from the client.
    known: Option<HeaderValue>,
}

#[derive(Clone, Copy, Debug)]
enum RequiredRevision {
    Latest,
    Revision(Revision),
}

impl<S: Send + Sync> FromRequestParts<S> for RevisionPreconditions {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let in_query = match parts.uri.query() {
            None => None,
            Some(_) => {
                let query = Query::<MinRevision>::from_request_parts(parts, state).await;
                query.ok().and_then(|Query(least)| least.min_revision)
            }
        };
        let in_header = parts.headers.get(&LEAST);
        let in_header = in_header.map(|value| String::from_utf8_lossy(value.as_bytes()).into());
        let least = in_header
            .or(in_query)
            .map(|text: String| parse_revision(&text));
        Ok(RevisionPreconditions {
            least: least.transpose()?,
            known: parts.headers.get(IF_NONE_MATCH).cloned(),
        })
    }
}

fn parse_revision(text: &str) -> Result<RequiredRevision, ApiError> {
    if text.trim().eq_ignore_ascii_case("latest") {
        return Ok(RequiredRevision::Latest);
    }
    let wrong = || {
        let message = format!("invalid min_revision {text:?}");
        problem(ErrorCode::RequestRevision, message)
            .with_hint(
                "send the first 32 hexadecimal digits of the SHA-256 of the stored text, or latest",
            )
            .with_param("min_revision")
    };
    Revision::parse(text)
        .map(RequiredRevision::Revision)
        .ok_or_else(wrong)
}

impl RevisionPreconditions {
    /// Waits until the definition that `find` returns has the required revision, and returns that
    /// snapshot.
    pub(crate) async fn wait_for_revision(
        &self,
        app: &App,
        id: &str,
        find: impl Fn(&CatalogueSnapshot) -> Option<Revision>,
    ) -> Result<Arc<CatalogueSnapshot>, ApiError> {
        let catalogue = app.service.catalogue();
        let Some(RequiredRevision::Revision(wanted)) = self.least else {
            self.wait_for_latest(app).await?;
            return Ok(catalogue.snapshot());
        };
        let is_there = || {
            let snapshot = catalogue.snapshot();
            (find(&snapshot) == Some(wanted)).then_some(snapshot)
        };
        let looking = async {
            loop {
                if let Some(snapshot) = is_there() {
                    return Ok(snapshot);
                }
                // After the sync, everything written until now is visible.
                app.service.sync().await.map_err(ServiceError::Store)?;
                if let Some(snapshot) = is_there() {
                    return Ok(snapshot);
                }
                sleep(PAUSE).await;
            }
        };
        match timeout(app.config.revision_time, looking).await {
            Ok(found) => found,
            Err(_) => Err(revision_timeout(
                app,
                id,
                wanted,
                find(&catalogue.snapshot()),
            )),
        }
    }

    /// Waits for all earlier writes if the request asks for `latest`. Lists and other responses
    /// without a single revision only support `latest`.
    pub(crate) async fn wait_for_latest(&self, app: &App) -> Result<(), ApiError> {
        match self.least {
            None => Ok(()),
            Some(RequiredRevision::Revision(_)) => {
                let message = "min_revision cannot be a digest here: the response is not about a single definition";
                Err(problem(ErrorCode::RequestRevision, message).with_hint("send latest"))
            }
            Some(RequiredRevision::Latest) => {
                match timeout(app.config.revision_time, app.service.sync()).await {
                    Ok(done) => Ok(done.map_err(ServiceError::Store)?),
                    Err(_) => {
                        let message = format!(
                            "the latest writes did not arrive within the limit on revision_ms ({:?})",
                            app.config.revision_time
                        );
                        Err(problem(ErrorCode::RevisionTimeout, message).with_retry_after(PAUSE))
                    }
                }
            }
        }
    }

    /// Returns JSON with an entity tag, or 304 if the client has that tag.
    pub(crate) fn answer(
        &self,
        value: &impl Serialize,
        revision: Option<Revision>,
    ) -> Result<Response, ApiError> {
        let bytes = to_json(value)?;
        // The tag covers the response and not only the definition, because diagnostics can change
        // on their own.
        let tag = tag(&Revision::of(&bytes).digits());
        let mut response = match &self.known {
            Some(known) if names(known, &tag) => {
                let mut response = Response::new(Body::empty());
                *response.status_mut() = StatusCode::NOT_MODIFIED;
                response
            }
            _ => json_response(bytes),
        };
        response.headers_mut().insert(ETAG, tag);
        if let Some(revision) = revision {
            set_revision_header(response.headers_mut(), &revision.digits());
        }
        Ok(response)
    }
}

/// Sets the headers for the revision and the version of a response.
pub(crate) fn set_version_headers(
    mut response: Response,
    revision: Option<Revision>,
    version: Option<u64>,
) -> Response {
    let headers = response.headers_mut();
    if let Some(version) = version {
        headers.insert(&VERSION, HeaderValue::from(version));
    }
    if let Some(revision) = revision {
        let digits = revision.digits();
        headers.insert(ETAG, tag(&digits));
        set_revision_header(headers, &digits);
    }
    response
}

/// Returns a function that finds the revision of a prompt in a snapshot.
pub(crate) fn of_prompt(id: &str) -> impl Fn(&CatalogueSnapshot) -> Option<Revision> {
    move |snapshot| snapshot.prompts.get(id).map(|prompt| prompt.revision)
}

/// Sets the revision header of a response.
pub(crate) fn set_revision_header(headers: &mut HeaderMap, digits: &[u8; 32]) {
    if let Ok(value) = HeaderValue::from_bytes(digits) {
        headers.insert(&REVISION, value);
    }
}

fn tag(digits: &[u8; 32]) -> HeaderValue {
    let mut tag = [b'"'; 34];
    tag[1..33].copy_from_slice(digits);
    let tag = HeaderValue::from_bytes(&tag);
    tag.unwrap_or(HeaderValue::from_static("\"\""))
}

/// Returns whether an `If-None-Match` list contains a tag. Weak tags match (RFC 9110, 13.1.2).
fn names(list: &HeaderValue, tag: &HeaderValue) -> bool {
    let (Ok(list), Ok(tag)) = (list.to_str(), tag.to_str()) else {
        return false;
    };
    let mut known = list.split(',').map(str::trim);
    known.any(|known| known == "*" || known.strip_prefix("W/").unwrap_or(known) == tag)
}

fn revision_timeout(app: &App, id: &str, wanted: Revision, is: Option<Revision>) -> ApiError {
    let is = match is {
        Some(is) => format!("the current revision is {is}"),
        None => "no definition has that id".to_owned(),
    };
    let message = format!(
        "revision {wanted} of {id:?} did not arrive within the limit on revision_ms ({:?}): {is}",
        app.config.revision_time
    );
    problem(ErrorCode::RevisionUnseen, message)
        .with_hint("check that this revision was written under this id and has not been overwritten; min_revision=latest accepts everything written before the request")
}
