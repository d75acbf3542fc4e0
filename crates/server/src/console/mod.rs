//! The console: web pages embedded in the program. They only use the public routes and contain no
//! data of the operator, so they are public like the OpenAPI document.

mod files;

use std::sync::OnceLock;

use axum::body::Bytes;
use axum::extract::Path;
use axum::http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG,
    IF_NONE_MATCH, REFERRER_POLICY, VARY, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Redirect, Response};
use quillet_core::ErrorCode;
use quillet_core::history::Digest;

use crate::error::{ApiError, problem};
use crate::request_context::RequestContext;

use files::{ConsoleFile, FILES};

/// Permits scripts, styles and requests of this server only. The pages never parse text as markup,
/// and the policy also blocks scripts in markup.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
     connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
     require-trusted-types-for 'script'; trusted-types 'none'";

/// The entity tags of the files, each computed on first use.
static TAGS: [OnceLock<HeaderValue>; FILES.len()] = [const { OnceLock::new() }; FILES.len()];

/// Returns the page of the console. Its views are selected by the fragment of the URL.
#[utoipa::path(get, path = "/", tag = "operation", responses(
    (status = 200, content_type = "text/html", description = "The page"),
))]
pub(crate) async fn page(_call: RequestContext, headers: HeaderMap) -> Result<Response, ApiError> {
    file("index.html", &headers)
}

/// Returns a file of the console.
#[utoipa::path(get, path = "/console/{file}", tag = "operation", params(
    ("file" = String, Path, description = "Its path: `app.js`, `screens/prompts.js`"),
), responses(
    (status = 200, content_type = "text/javascript", description = "The file"),
    (status = 304, description = "It is the one that the client has (`If-None-Match`)"),
    (status = 404, body = crate::error::ProblemDetails, content_type = "application/problem+json"),
))]
pub(crate) async fn asset(
    _call: RequestContext,
    Path(path): Path<String>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    file(&path, &headers)
}

/// Returns the same page, which shows all operations with examples to try.
#[utoipa::path(get, path = "/docs", tag = "operation", responses(
    (status = 200, content_type = "text/html", description = "The page"),
))]
pub(crate) async fn docs(_call: RequestContext, headers: HeaderMap) -> Result<Response, ApiError> {
    file("index.html", &headers)
}

/// Redirects from the documentation page of ai-prompt-shell.
#[utoipa::path(get, path = "/swagger/index.html", tag = "operation", responses(
    (status = 308, description = "To `/docs`"),
))]
pub(crate) async fn old_docs(call: RequestContext) -> Redirect {
    Redirect::permanent(&format!("{}/docs", call.app.config.prefix))
}

fn file(path: &str, asked: &HeaderMap) -> Result<Response, ApiError> {
    let place = FILES.iter().position(|file| file.path == path);
    let Some((file, tag)) = place.and_then(|at| Some((FILES.get(at)?, TAGS.get(at)?))) else {
        let message = format!("the console has no file {path}");
        return Err(problem(ErrorCode::RouteUnknown, message));
    };
    let tag = tag.get_or_init(|| tag_of(file));
    let mut answer = if is_known(asked, tag) {
        StatusCode::NOT_MODIFIED.into_response()
    } else if takes_gzip(asked) {
        let mut answer = Bytes::from_static(file.gzip).into_response();
        let gzip = HeaderValue::from_static("gzip");
        answer.headers_mut().insert(CONTENT_ENCODING, gzip);
        answer
    } else {
        Bytes::from_static(file.text.as_bytes()).into_response()
    };
    let headers = answer.headers_mut();
    for (name, value) in [
        (CONTENT_TYPE, file.kind()),
        (CONTENT_SECURITY_POLICY, POLICY),
        // Browsers revalidate their copy each time, so that all files are from the same version.
        (CACHE_CONTROL, "no-cache"),
        (VARY, "accept-encoding"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (REFERRER_POLICY, "no-referrer"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.insert(ETAG, tag.clone());
    Ok(answer)
}

fn tag_of(file: &ConsoleFile) -> HeaderValue {
    // The digest of the compressed data identifies the text, and less data is hashed.
    let digest = Digest::of(file.gzip).to_string();
    let digits = digest.trim_start_matches("sha256:").get(..16);
    let tag = format!("W/\"{}\"", digits.unwrap_or_default());
    HeaderValue::try_from(tag).unwrap_or(HeaderValue::from_static("W/\"0\""))
}

fn is_known(asked: &HeaderMap, tag: &HeaderValue) -> bool {
    let has = |value: &HeaderValue| {
        let tags = value.to_str().unwrap_or_default().split(',');
        tags.map(str::trim)
            .any(|one| one.as_bytes() == tag.as_bytes())
    };
    asked.get_all(IF_NONE_MATCH).iter().any(has)
}

fn takes_gzip(asked: &HeaderMap) -> bool {
    let takes = |value: &HeaderValue| value.to_str().is_ok_and(|text| text.contains("gzip"));
    asked.get_all(ACCEPT_ENCODING).iter().any(takes)
}
