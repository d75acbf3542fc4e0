//! The HTTP routes: request and response formats.

pub(crate) mod agents;
pub(crate) mod body;
pub(crate) mod budgets;
pub(crate) mod catalogue;
pub(crate) mod chat;
mod chunk;
pub(crate) mod client_fill;
mod completion;
pub(crate) mod cost;
pub(crate) mod definitions;
mod event_stream;
pub(crate) mod json_error;
pub(crate) mod langfuse;
mod listing;
pub(crate) mod litellm;
pub(crate) mod members;
pub(crate) mod mlflow;
pub(crate) mod openai;
pub(crate) mod render;
pub(crate) mod reply;
pub(crate) mod response;
pub(crate) mod runs;
pub(crate) mod script;
mod script_report;
pub(crate) mod source;
pub(crate) mod system;
pub(crate) mod traced;
pub(crate) mod traces;

use std::borrow::Cow;

use axum::body::Body;
use axum::extract::{FromRequestParts, Path};
use axum::http::HeaderValue;
use axum::http::header::CONTENT_TYPE;
use axum::http::request::Parts;
use axum::response::Response;
use quillet_core::{ErrorCode, Map, MapTable};
use serde::Serialize;

use crate::error::{ApiError, problem};

/// An id in a path, percent-decoded. An id can contain dots and any other characters.
#[derive(Debug)]
pub(crate) struct Id(pub(crate) String);

impl<S: Send + Sync> FromRequestParts<S> for Id {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        match Path::<String>::from_request_parts(parts, state).await {
            Ok(Path(id)) => Ok(Id(id)),
            Err(_) => Err(
                problem(ErrorCode::RequestPath, "the id in the path is not UTF-8")
                    .with_hint("percent-encode it"),
            ),
        }
    }
}

/// Merges the variables from both members. `variables` takes precedence over `args`,
/// ai-prompt-shell's name for it.
fn merged<'a>(variables: Option<&'a Map>, args: Option<&'a Map>) -> Cow<'a, Map> {
    match (variables, args) {
        (Some(one), None) | (None, Some(one)) => Cow::Borrowed(one),
        (None, None) => Cow::Owned(Map::default()),
        (Some(variables), Some(args)) => {
            let mut table: MapTable = args.to_table();
            table.extend(
                variables
                    .iter()
                    .map(|(name, value)| (name.clone(), value.clone())),
            );
            Cow::Owned(Map::new(table))
        }
    }
}

/// Returns a JSON response.
pub(crate) fn json_body(value: &impl Serialize) -> Result<Response, ApiError> {
    Ok(json_response(to_json(value)?))
}

/// Serializes a value as JSON.
pub(crate) fn to_json(value: &impl Serialize) -> Result<Vec<u8>, ApiError> {
    let mut bytes = Vec::with_capacity(512);
    if let Err(error) = serde_json::to_writer(&mut bytes, value) {
        return Err(problem(
            ErrorCode::ServerAnswer,
            format!("cannot serialize the response: {error}"),
        ));
    }
    Ok(bytes)
}

/// Returns a response with serialized JSON.
pub(crate) fn json_response(bytes: Vec<u8>) -> Response {
    let mut response = Response::new(Body::from(bytes));
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}
