//! The routes of the prompt service: what they take and what they answer.

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
pub(crate) mod response;
pub(crate) mod runs;
pub(crate) mod script;
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
use quillet_prompt::{ToolFailure, UnresolvedVariable, UnusedVariable};
use serde::Serialize;
use utoipa::ToSchema;

use self::members::UnknownField;
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
                problem(ErrorCode::RequestPath, "the id in the path is not UTF-8")
                    .hint("percent-encode it"),
            ),
        }
    }
}

/// What the client should know: a tool call that failed while rendering, whose default stands
/// in the text; a member or a variable of the request that nobody reads.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct Warning {
    /// The tool's function name, if it is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<String>,
    /// Stable code, such as `tool.timeout`, `request.unknown_member`, `request.unused_variable`.
    code: &'static str,
    /// What happened.
    message: String,
    /// How long the call took, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    elapsed_ms: Option<u64>,
}

impl Warning {
    fn of_request(code: &'static str, message: String) -> Self {
        Warning {
            tool: None,
            code,
            message,
            elapsed_ms: None,
        }
    }

    /// A member of the body that nobody reads.
    fn unknown(member: &UnknownField) -> Self {
        let hint = member
            .nearest
            .map_or_else(String::new, |name| format!("; did you mean {name:?}?"));
        let message = format!(
            "the member {:?} is not known and is ignored{hint}",
            member.name
        );
        Warning::of_request("request.unknown_member", message)
    }

    /// A variable that the prompt neither declares nor uses.
    fn unused(variable: &UnusedVariable) -> Self {
        let near = variable.nearest.as_deref();
        let hint = near.map_or_else(String::new, |name| format!("; did you mean {name:?}?"));
        let message = format!(
            "the prompt neither declares nor uses the variable {:?}{hint}",
            variable.name
        );
        Warning::of_request("request.unused_variable", message)
    }

    /// A variable that the prompt uses, and neither declares nor is given.
    fn absent(variable: &UnresolvedVariable) -> Self {
        let near = variable.nearest.as_deref();
        let hint = near.map_or_else(String::new, |name| format!("; did you mean {name:?}?"));
        let message = format!(
            "the prompt uses the variable {:?}, which it does not declare and nobody gave{hint}",
            variable.name
        );
        Warning::of_request("request.missing_variable", message)
    }
}

pub(crate) fn warnings(
    unknown: &[UnknownField],
    (unused, absent): (&[UnusedVariable], &[UnresolvedVariable]),
    failures: Vec<ToolFailure>,
) -> Vec<Warning> {
    let of_tool = |failure: ToolFailure| Warning {
        tool: Some(failure.tool),
        code: failure.code.as_str(),
        message: failure.message,
        elapsed_ms: Some(failure.elapsed_ms),
    };
    let of_tools = failures.into_iter().map(of_tool);
    let of_members = unknown.iter().map(Warning::unknown);
    let of_variables = unused.iter().map(Warning::unused);
    let of_absent = absent.iter().map(Warning::absent);
    let of_request = of_members.chain(of_variables).chain(of_absent);
    of_tools.chain(of_request).collect()
}

/// `variables` over `args`, ai-prompt-shell's name for the same.
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

/// A JSON answer.
pub(crate) fn json(value: &impl Serialize) -> Result<Response, ApiError> {
    Ok(json_of(written(value)?))
}

/// A value as JSON.
pub(crate) fn written(value: &impl Serialize) -> Result<Vec<u8>, ApiError> {
    let mut bytes = Vec::with_capacity(512);
    if let Err(error) = serde_json::to_writer(&mut bytes, value) {
        return Err(problem(
            ErrorCode::ServerAnswer,
            format!("the answer has no JSON form: {error}"),
        ));
    }
    Ok(bytes)
}

/// An answer of JSON that is written already.
pub(crate) fn json_of(bytes: Vec<u8>) -> Response {
    let mut response = Response::new(Body::from(bytes));
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}
