//! Reading a request's body: bounded in bytes, time and depth, with errors that
//! name the place.

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{FromRequest, Request};
use futures_util::FutureExt;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Body as _;
use serde::de::DeserializeOwned;

use super::members::{self, Unknown};
use super::words;
use crate::error::{ApiError, problem};
use crate::exchange::At;

/// A JSON body. An empty one counts as the type's default: no variables. The
/// content type is not looked at, since `curl -d` sends another.
#[derive(Debug)]
pub(crate) struct JsonBody<T>(pub(crate) T);

/// The same, with the members that the type does not have.
#[derive(Debug)]
pub(crate) struct NotedBody<T>(pub(crate) T, pub(crate) Vec<Unknown>);

impl<T: DeserializeOwned + Default> FromRequest<At> for JsonBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, at: &At) -> Result<Self, ApiError> {
        let NotedBody(value, _) = NotedBody::from_request(request, at).await?;
        Ok(JsonBody(value))
    }
}

impl<T: DeserializeOwned + Default> FromRequest<At> for NotedBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, at: &At) -> Result<Self, ApiError> {
        let config = &at.app.config;
        let bytes = read(request.into_body(), config.body_bytes, config.body_time).await?;
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
        serde_json::error::Category::Data => "the body does not fit",
        _ => "the body is not JSON",
    };
    problem(
        400,
        "request.body",
        format!("{what}: {}", words::why(error)),
    )
    .at(error.line(), error.column())
}

pub(crate) async fn read(body: Body, most: usize, time: Duration) -> Result<Bytes, ApiError> {
    // What says that it is too large need not arrive.
    if body.size_hint().lower() > most as u64 {
        return Err(large(most));
    }
    let reading = Limited::new(body, most).collect();
    tokio::pin!(reading);
    // Nearly every body has arrived with its headers; only the others need a timer.
    let read = match reading.as_mut().now_or_never() {
        Some(read) => read,
        None => match tokio::time::timeout(time, reading).await {
            Ok(read) => read,
            Err(_) => return Err(slow(time)),
        },
    };
    match read {
        Ok(body) => Ok(body.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(large(most)),
        Err(error) => Err(problem(
            400,
            "request.body",
            format!("the body did not arrive whole: {error}"),
        )),
    }
}

pub(crate) fn large(most: usize) -> ApiError {
    let message = format!("the body is larger than the limit on body_bytes ({most})");
    problem(413, "request.too_large", message)
}

fn slow(time: Duration) -> ApiError {
    let message = format!("the body did not arrive within the limit on body_time ({time:?})");
    problem(408, "request.slow", message)
}
