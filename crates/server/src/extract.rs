//! Extractors for bodies and query parameters. Their errors name the invalid member but never
//! repeat its value, which may be a password.

use axum::extract::{FromRequest, FromRequestParts, Query, Request};
use axum::http::request::Parts;
use quillet_core::ErrorCode;
use serde::de::DeserializeOwned;

use crate::api::{body, json_error, members};
use crate::error::{ApiError, problem};
use crate::request_context::RouteState;

/// An optional JSON body. Invalid members get 422, as in table-chat.
#[derive(Debug)]
pub(crate) struct MaybeBody<T>(pub(crate) Option<T>);

/// A required JSON body.
#[derive(Debug)]
pub(crate) struct RequiredJson<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequest<RouteState> for MaybeBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, at: &RouteState) -> Result<Self, ApiError> {
        let config = &at.app.config;
        let bytes = body::read(request.into_body(), config.body_bytes, config.body_time).await?;
        // Some clients send a newline as an empty body.
        if bytes.trim_ascii().is_empty() {
            return Ok(MaybeBody(None));
        }
        let read = members::read(&bytes, &mut Vec::new());
        read.map(|value| MaybeBody(Some(value)))
            .map_err(|error| malformed(&error))
    }
}

impl<T: DeserializeOwned> FromRequest<RouteState> for RequiredJson<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, at: &RouteState) -> Result<Self, ApiError> {
        match MaybeBody::from_request(request, at).await? {
            MaybeBody(Some(value)) => Ok(RequiredJson(value)),
            MaybeBody(None) => Err(problem(
                ErrorCode::RequestBody,
                "missing body: expected a JSON object",
            )
            .with_sql_status()),
        }
    }
}

fn malformed(error: &serde_json::Error) -> ApiError {
    let why = json_error::json_error_message(error);
    let said = |what| problem(ErrorCode::RequestBody, format!("{what}: {why}"));
    let answer = match error.classify() {
        serde_json::error::Category::Data => said("invalid body").with_sql_status(),
        _ => said("the body is not JSON"),
    };
    answer.with_location(error.line(), error.column())
}

/// Query parameters. Invalid ones get 422.
#[derive(Debug)]
pub(crate) struct QueryParams<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned + Default> FromRequestParts<S> for QueryParams<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        if parts.uri.query().is_none() {
            return Ok(QueryParams(T::default()));
        }
        match Query::<T>::from_request_parts(parts, state).await {
            Ok(Query(value)) => Ok(QueryParams(value)),
            Err(error) => Err(problem(
                ErrorCode::RequestQuery,
                format!(
                    "invalid query parameters: {}",
                    json_error::plain(&error.body_text())
                ),
            )),
        }
    }
}

/// Returns whether a flag of the query is on: `?refresh`, `?refresh=true`, `1`, `yes`, `on`.
pub(crate) fn is_on(switch: Option<&str>) -> bool {
    matches!(switch, Some("" | "1" | "true" | "yes" | "on"))
}
