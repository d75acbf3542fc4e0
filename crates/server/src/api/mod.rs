//! The routes of the prompt service: what they take and what they answer.

pub(crate) mod body;
pub(crate) mod catalogue;
pub(crate) mod chat;
mod chunk;
mod completion;
mod feed;
pub(crate) mod openai;
pub(crate) mod render;
pub(crate) mod response;
pub(crate) mod script;

use std::borrow::Cow;

use axum::body::Body;
use axum::extract::{FromRequestParts, Path};
use axum::http::HeaderValue;
use axum::http::header::CONTENT_TYPE;
use axum::http::request::Parts;
use axum::response::Response;
use quillet_core::{Map, Table};
use quillet_prompt::ToolFailure;
use serde::Serialize;
use utoipa::ToSchema;

use crate::error::{ApiError, problem};

/// The id in a path, percent-decoded. Ids hold dots and may hold anything else.
#[derive(Debug)]
pub(crate) struct Id(pub(crate) String);

impl<S: Send + Sync> FromRequestParts<S> for Id {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        match Path::<String>::from_request_parts(parts, state).await {
            Ok(Path(id)) => Ok(Id(id)),
            Err(_) => Err(
                problem(400, "request.path", "the id in the path is not UTF-8")
                    .hint("percent-encode it"),
            ),
        }
    }
}

/// A tool call that failed while rendering; its default stands in the text.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct Warning {
    /// The tool's function name.
    tool: String,
    /// Stable code, such as `tool.timeout`.
    code: &'static str,
    /// What happened.
    message: String,
    /// How long the call took, in milliseconds.
    elapsed_ms: u64,
}

pub(crate) fn warnings(failures: Vec<ToolFailure>) -> Vec<Warning> {
    let warning = |failure: ToolFailure| Warning {
        tool: failure.tool,
        code: failure.code,
        message: failure.message,
        elapsed_ms: failure.elapsed_ms,
    };
    failures.into_iter().map(warning).collect()
}

/// `variables` over `args`, the origin's name for the same (note 1.1).
fn merged<'a>(variables: Option<&'a Map>, args: Option<&'a Map>) -> Cow<'a, Map> {
    match (variables, args) {
        (Some(one), None) | (None, Some(one)) => Cow::Borrowed(one),
        (None, None) => Cow::Owned(Map::default()),
        (Some(variables), Some(args)) => {
            let mut table: Table = args.to_table();
            table.extend(
                variables
                    .iter()
                    .map(|(name, value)| (name.clone(), value.clone())),
            );
            Cow::Owned(Map::new(table))
        }
    }
}

/// A JSON answer.
pub(crate) fn json(value: &impl Serialize) -> Result<Response, ApiError> {
    let mut bytes = Vec::with_capacity(512);
    if let Err(error) = serde_json::to_writer(&mut bytes, value) {
        return Err(problem(
            500,
            "server.answer",
            format!("the answer has no JSON form: {error}"),
        ));
    }
    let mut response = Response::new(Body::from(bytes));
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    Ok(response)
}
