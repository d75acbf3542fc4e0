//! What requests give: bodies and parameters, with errors that name the member and never
//! repeat a value, which may be a password.

use axum::extract::{FromRequest, FromRequestParts, Query, Request};
use axum::http::request::Parts;
use quillet_core::ErrorCode;
use serde::de::DeserializeOwned;

use crate::api::{body, json_error, members};
use crate::error::{ApiError, problem};
use crate::request_context::RouteState;

/// A JSON body, if there is one. What does not fit is answered with 422, as table-chat does.
#[derive(Debug)]
pub(crate) struct MaybeBody<T>(pub(crate) Option<T>);

/// A JSON body that has to be there.
#[derive(Debug)]
pub(crate) struct RequiredJson<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequest<RouteState> for MaybeBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, at: &RouteState) -> Result<Self, ApiError> {
        let config = &at.app.config;
        let bytes = body::read(request.into_body(), config.body_bytes, config.body_time).await?;
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
                "the request has no body; it takes a JSON object",
            )
            .with_sql_status()),
        }
    }
}

fn malformed(error: &serde_json::Error) -> ApiError {
    let why = json_error::json_error_message(error);
    let said = |what| problem(ErrorCode::RequestBody, format!("{what}: {why}"));
    let answer = match error.classify() {
        serde_json::error::Category::Data => said("the body does not fit").with_sql_status(),
        _ => said("the body is not JSON"),
    };
    answer.at(error.line(), error.column())
}

/// Parameters behind `?`. What does not fit is answered with 422.
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
                    "the parameters behind ? do not fit: {}",
                    json_error::plain(&error.body_text())
                ),
            )),
        }
    }
}

/// Whether a switch among the parameters is on: `?refresh`, `?refresh=true`, `1`, `yes`, `on`.
pub(crate) fn is_on(switch: Option<&str>) -> bool {
    matches!(switch, Some("" | "1" | "true" | "yes" | "on"))
}
