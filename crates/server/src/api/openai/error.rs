//! Errors in OpenAI's format, with the statuses that its SDKs map to typed errors.

use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use quillet_core::ErrorCode;
use quillet_core::error_code::OpenAi;
use serde::Serialize;

use super::schema::{ErrorBody, ErrorObject};
use crate::api::{langfuse, mlflow};
use crate::error::ApiError;

/// The error format of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ErrorFormat {
    /// Problem details.
    Problem,
    /// `{"error": {…}}`, OpenAI's format.
    OpenAi,
    /// Problem details with the members that clients of table-chat read.
    Databases,
    /// `{"message", "error"}`, Langfuse's format.
    Langfuse,
    /// `{"error_code", "message"}`, MLflow's format.
    Mlflow,
}

/// The first path segments of OpenAI's routes below `/v1`, including those that this server does
/// not implement. OpenAI's clients do not understand other error formats.
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

/// Returns the error format of a path, even if it does not match a route.
pub(crate) fn shape(prefix: &str, path: &str) -> ErrorFormat {
    let path = path.strip_prefix(prefix);
    if path.is_some_and(crate::sql::has_path) {
        return ErrorFormat::Databases;
    }
    if path.is_some_and(|path| path.starts_with(langfuse::BASE)) {
        return ErrorFormat::Langfuse;
    }
    if path.is_some_and(|path| path.starts_with(mlflow::BASE)) {
        return ErrorFormat::Mlflow;
    }
    let ours = path.and_then(|path| path.strip_prefix("/v1/"));
    let first = ours.and_then(|path| path.split('/').next());
    match first {
        Some(first) if OPENAIS.contains(&first) => ErrorFormat::OpenAi,
        _ => ErrorFormat::Problem,
    }
}

/// Returns the status and type of an error. The status of the provider is preserved, so that
/// clients react to it in the usual way: wait, choose another model, or give up.
fn of(error: &ApiError) -> OpenAi {
    let passes = |status: &u16| match error.root_code() {
        ErrorCode::ModelRefused => [400, 409, 413, 422].contains(status),
        ErrorCode::ModelProvider => (500..600).contains(status),
        _ => false,
    };
    let row = error.root_code().openai();
    let told = error.provider_status().0.filter(passes);
    OpenAi {
        status: told.unwrap_or(row.status),
        ..row
    }
}

/// Returns the body of an error, which is also the data of an error event.
pub(crate) fn body(error: &ApiError) -> ErrorBody {
    let class = of(error);
    // Some messages already contain the suggestion.
    let hint = error
        .hint_text()
        .filter(|_| !error.message().contains("did you mean"));
    let message = match hint {
        Some(hint) => format!("{}: {hint}", error.message()),
        None => error.message().to_owned(),
    };
    let of_provider = error.provider_status().1.map(str::to_owned);
    let is_ours = class.code.is_some();
    let code = class.code.map(str::to_owned);
    let names_model = class.code == Some("model_not_found");
    ErrorBody {
        error: ErrorObject {
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

/// Returns the error response.
pub(crate) fn answer(error: &ApiError) -> Response {
    let class = of(error);
    let mut response = json(&body(error));
    let status = StatusCode::from_u16(class.status);
    *response.status_mut() = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    error.set_retry_headers(&mut response);
    // The SDKs retry certain statuses even if the error is permanent.
    let is_final = [
        ErrorCode::ModelQuota,
        ErrorCode::ModelConfiguration,
        ErrorCode::BudgetExceeded,
    ]
    .contains(&error.root_code());
    // OpenAI's SDKs check this header before the status.
    let again = if matches!(class.status, 429 | 500..) && !is_final {
        "true"
    } else {
        "false"
    };
    let again = HeaderValue::from_static(again);
    response.headers_mut().insert("x-should-retry", again);
    response
}

fn json(body: &impl Serialize) -> Response {
    let bytes = serde_json::to_vec(body).unwrap_or_default();
    let mut response = Response::new(Body::from(bytes));
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}
