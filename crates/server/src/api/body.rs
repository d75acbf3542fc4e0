//! Reads request bodies with limits on size, time and depth, and errors that give the location.

use std::time::Duration;

use axum::BoxError;
use axum::body::{Bytes, HttpBody};
use axum::extract::{FromRequest, Request};
use futures_util::FutureExt;
use http_body_util::BodyExt;
use quillet_core::ErrorCode;
use serde::de::DeserializeOwned;

use super::json_error;
use super::members::{self, UnknownField};
use crate::config::ServerConfig;
use crate::error::{ApiError, problem};
use crate::request_context::RouteState;

/// A JSON body. An empty body yields the type's default. The content type is ignored, because `curl
/// -d` sends another one.
#[derive(Debug)]
pub(crate) struct JsonBody<T>(pub(crate) T);

/// A JSON body with its unknown members.
#[derive(Debug)]
pub(crate) struct NotedBody<T>(pub(crate) T, pub(crate) Vec<UnknownField>);

impl<T: DeserializeOwned + Default> FromRequest<RouteState> for JsonBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, at: &RouteState) -> Result<Self, ApiError> {
        let NotedBody(value, _) = NotedBody::from_request(request, at).await?;
        Ok(JsonBody(value))
    }
}

impl<T: DeserializeOwned + Default> FromRequest<RouteState> for NotedBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, at: &RouteState) -> Result<Self, ApiError> {
        NotedBody::read(&at.app.config, request.into_body()).await
    }
}

impl<T: DeserializeOwned + Default> NotedBody<T> {
    /// Reads the body of a request.
    pub(crate) async fn read<B>(config: &ServerConfig, body: B) -> Result<Self, ApiError>
    where
        B: HttpBody<Data = Bytes, Error: Into<BoxError>> + Unpin,
    {
        let bytes = read(body, config.body_bytes, config.body_time).await?;
        let mut unknown = Vec::new();
        if bytes.trim_ascii().is_empty() {
            return Ok(NotedBody(T::default(), unknown));
        }
        match members::read(&bytes, &mut unknown) {
            Ok(value) => Ok(NotedBody(value, unknown)),
            Err(error) => Err(malformed(&error)),
        }
    }
}

fn malformed(error: &serde_json::Error) -> ApiError {
    let what = match error.classify() {
        serde_json::error::Category::Data => "invalid body",
        _ => "the body is not JSON",
    };
    problem(
        ErrorCode::RequestBody,
        format!("{what}: {}", json_error::json_error_message(error)),
    )
    .with_location(error.line(), error.column())
}

pub(crate) async fn read<B>(body: B, most: usize, time: Duration) -> Result<Bytes, ApiError>
where
    B: HttpBody<Data = Bytes, Error: Into<BoxError>> + Unpin,
{
    // A declared length above the limit is rejected before the body is read.
    if body.size_hint().lower() > most as u64 {
        return Err(large(most));
    }
    let reading = gathered(body, most);
    tokio::pin!(reading);
    // Nearly every body arrives with its headers, so only the others need a timer.
    match reading.as_mut().now_or_never() {
        Some(read) => read,
        None => {
            let read = tokio::time::timeout(time, reading).await;
            read.unwrap_or_else(|_| Err(slow(time)))
        }
    }
}

/// Returns the body as one buffer, without a copy if it arrived in one chunk.
async fn gathered<B>(mut body: B, most: usize) -> Result<Bytes, ApiError>
where
    B: HttpBody<Data = Bytes, Error: Into<BoxError>> + Unpin,
{
    let mut first = Bytes::new();
    let mut all = Vec::new();
    while !body.is_end_stream()
        && let Some(frame) = body.frame().await
    {
        let frame = frame.map_err(|error| {
            let error: BoxError = error.into();
            let message = format!("the body is incomplete: {error}");
            problem(ErrorCode::RequestBody, message)
        })?;
        let Ok(piece) = frame.into_data() else {
            continue;
        };
        // Only one of the two buffers is in use, so their maximum is the size so far and cannot
        // exceed the limit.
        if piece.len() > most - first.len().max(all.len()) {
            return Err(large(most));
        }
        if first.is_empty() && all.is_empty() {
            first = piece;
            continue;
        }
        all.extend_from_slice(&std::mem::take(&mut first));
        all.extend_from_slice(&piece);
    }
    if all.is_empty() {
        Ok(first)
    } else {
        Ok(all.into())
    }
}

pub(crate) fn large(most: usize) -> ApiError {
    let message = format!("the body is larger than the limit on body_bytes ({most})");
    problem(ErrorCode::RequestTooLarge, message)
}

fn slow(time: Duration) -> ApiError {
    let message = format!("the body did not arrive within the limit on body_time ({time:?})");
    problem(ErrorCode::RequestSlow, message)
}
