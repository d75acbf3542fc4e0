//! `POST /api/public/otel/v1/traces`: receives spans from Langfuse's clients.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::Request;
use axum::http::header::CONTENT_TYPE;
use axum::response::Response;
use quillet_core::ErrorCode;

use super::spans;
use crate::api::{body, json_body};
use crate::error::{ApiError, problem};
use crate::request_context::RequestContext;

/// Records spans if traces are enabled. Otherwise it discards them, so that the queues of clients
/// do not fill up.
pub(super) async fn ingest_spans(
    call: RequestContext,
    request: Request,
) -> Result<Response, ApiError> {
    let kind = request.headers().get(CONTENT_TYPE);
    let is_json = kind.is_some_and(|kind| kind.as_bytes().starts_with(b"application/json"));
    let config = &call.app.config;
    let bytes = body::read(request.into_body(), config.body_bytes, config.body_time).await?;
    let wrong = |why: String| problem(ErrorCode::DoorRequest, why);
    let traces = if is_json {
        let body = serde_json::from_slice(&bytes).map_err(|error| wrong(error.to_string()))?;
        spans::of_json(&body)
    } else {
        spans::of_protobuf(&bytes).map_err(|error| wrong(error.to_string()))?
    };
    let sink = call.app.agents.as_ref();
    if let Some(sink) = sink.and_then(|agents| agents.parts().traces.as_ref()) {
        for trace in traces {
            sink.record(Arc::new(trace));
        }
    }
    if is_json {
        return json_body(&serde_json::json!({}));
    }
    // An empty body is a valid ExportTraceServiceResponse in protobuf.
    let answer = Response::builder().header(CONTENT_TYPE, "application/x-protobuf");
    Ok(answer.body(Body::empty()).unwrap_or_default())
}
