//! Errors in OpenAI's shape, with the statuses that its SDKs make typed errors of.

use axum::body::Body;
use axum::http::header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use quillet_core::chat::ModelErrorKind;
use serde::Serialize;

use super::schema::{ErrorBody, Failure};
use crate::error::ApiError;

/// The shape of a route's errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Problem details.
    Problem,
    /// `{"error": {…}}`, as OpenAI.
    OpenAi,
    /// Problem details with the members that clients of table-chat read.
    Databases,
}

/// What OpenAI's own routes below `/v1` begin with, served here or not: its clients read no
/// other errors.
const OPENAIS: [&str; 22] = [
    "assistants",
    "audio",
    "batches",
    "chat",
    "completions",
    "containers",
    "conversations",
    "edits",
    "embeddings",
    "evals",
    "files",
    "fine_tuning",
    "images",
    "models",
    "moderations",
    "organization",
    "realtime",
    "responses",
    "threads",
    "uploads",
    "vector_stores",
    "videos",
];

/// The shape of what is at this path, even of requests that do not get to a route.
pub(crate) fn shape(prefix: &str, path: &str) -> Shape {
    let path = path.strip_prefix(prefix);
    if path.is_some_and(crate::sql::has_path) {
        return Shape::Databases;
    }
    let ours = path.and_then(|path| path.strip_prefix("/v1/"));
    let first = ours.and_then(|path| path.split('/').next());
    match first {
        Some(first) if OPENAIS.contains(&first) => Shape::OpenAi,
        _ => Shape::Problem,
    }
}

/// Status, type and code of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Class {
    status: u16,
    kind: &'static str,
    code: Option<&'static str>,
    /// Whether the same request may succeed when sent again.
    again: bool,
}

const fn class(status: u16, kind: &'static str, code: Option<&'static str>) -> Class {
    let again = status == 429 || status >= 500;
    Class {
        status,
        kind,
        code,
        again,
    }
}

const INVALID: &str = "invalid_request_error";
const SERVER: &str = "server_error";

fn of(error: &ApiError) -> Class {
    if let Some(kind) = error.model_failure() {
        return of_model(kind, error.of_provider().0);
    }
    match (error.status(), error.code()) {
        (401, _) => class(401, INVALID, Some("invalid_api_key")),
        (404, "not_found" | "prompt.not_found") => class(404, INVALID, Some("model_not_found")),
        (429, _) => class(429, "requests", Some("rate_limit_exceeded")),
        (status @ 400..500, code) => class(status, INVALID, Some(code)),
        (status, code) => class(status, SERVER, Some(code)),
    }
}

/// A provider's failure is reported as the provider itself would, so that clients do what they do
/// there: wait, ask for another model, or give up.
fn of_model(kind: ModelErrorKind, status: Option<u16>) -> Class {
    match kind {
        ModelErrorKind::Auth => class(401, INVALID, Some("invalid_api_key")),
        ModelErrorKind::Forbidden => class(403, INVALID, Some("forbidden")),
        ModelErrorKind::ModelNotFound => class(404, INVALID, Some("model_not_found")),
        ModelErrorKind::RateLimited => class(429, "requests", Some("rate_limit_exceeded")),
        ModelErrorKind::Quota => Class {
            again: false,
            ..class(429, "insufficient_quota", Some("insufficient_quota"))
        },
        ModelErrorKind::ContextLength => class(400, INVALID, Some("context_length_exceeded")),
        ModelErrorKind::ContentFilter => class(400, INVALID, Some("content_filter")),
        ModelErrorKind::Refused => {
            let told = status.filter(|status| [400, 409, 413, 422].contains(status));
            class(told.unwrap_or(400), INVALID, None)
        }
        ModelErrorKind::Overloaded => class(503, SERVER, Some("overloaded")),
        ModelErrorKind::Timeout => class(504, SERVER, Some("timeout")),
        ModelErrorKind::Configuration => Class {
            again: false,
            ..class(503, SERVER, Some(kind.code()))
        },
        ModelErrorKind::Provider => {
            let told = status.filter(|status| (500..600).contains(status));
            class(told.unwrap_or(502), SERVER, Some(kind.code()))
        }
        ModelErrorKind::Connect
        | ModelErrorKind::MalformedToolCall
        | ModelErrorKind::Protocol
        | ModelErrorKind::Cut => class(502, SERVER, Some(kind.code())),
    }
}

/// The body of an error; in the middle of a stream it comes as an event.
pub(crate) fn body(error: &ApiError) -> ErrorBody {
    let class = of(error);
    // Some messages name the nearest themselves.
    let hint = error
        .hint_text()
        .filter(|_| !error.message().contains("did you mean"));
    let message = match hint {
        Some(hint) => format!("{}: {hint}", error.message()),
        None => error.message().to_owned(),
    };
    let of_provider = error.of_provider().1.map(str::to_owned);
    let is_ours = class.code.is_some();
    let code = class.code.map(str::to_owned);
    let names_model = class.code == Some("model_not_found");
    ErrorBody {
        error: Failure {
            message,
            r#type: class.kind,
            param: match error.param() {
                None if names_model => Some("model".to_owned()),
                param => param.map(str::to_owned),
            },
            code: if is_ours { code } else { of_provider },
        },
    }
}

/// The whole answer.
pub(crate) fn answer(error: &ApiError) -> Response {
    let class = of(error);
    let mut response = json(&body(error));
    let status = StatusCode::from_u16(class.status);
    *response.status_mut() = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    if let Some(seconds) = error.retry_seconds() {
        headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    if class.status == 401 {
        headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    // The SDKs ask again for some statuses unless they are told not to.
    let again = if class.again { "true" } else { "false" };
    headers.insert("x-should-retry", HeaderValue::from_static(again));
    response
}

fn json(body: &impl Serialize) -> Response {
    let bytes = serde_json::to_vec(body).unwrap_or_default();
    let mut response = Response::new(Body::from(bytes));
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}
