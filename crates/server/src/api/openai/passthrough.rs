//! Pass-through of requests and responses between client and provider.
//!
//! If the provider has the same API as the route, parsing and encoding a body yields the same
//! bytes. Such bodies are forwarded as bytes, after a scan for anything that parsing would change.
//! If the scan finds something in a request, the request is parsed. A response is parsed from the
//! first such event on.

use std::sync::Arc;
use std::time::Instant;

use axum::response::Response;
use futures_util::StreamExt;
use quillet_core::chat::{ModelError, ModelErrorKind, Reply, WireItem, WireRequest};

use super::chat_encoder::ChatEncoder;
use super::target::ModelTarget;
use crate::api::completion::ChatCompletion;
use crate::api::event_stream::{self, PendingReply, StreamingReply};
use crate::api::reply::with_chat_timeout;
use crate::api::{json_body, json_response};
use crate::error::ApiError;
use crate::request_context::RequestContext;

/// Forwards a body if possible. Otherwise returns `None` without side effects.
pub(super) async fn answer(
    call: &RequestContext,
    body: &[u8],
) -> Result<Option<Response>, ApiError> {
    let Some(model) = call.app.service.model() else {
        return Ok(None);
    };
    // Batch rows replace the model, so the request must be parsed.
    if call.exchange.replacement_model().is_some() {
        return Ok(None);
    }
    let Some(request) = quillet_llm::read_wire(body) else {
        return Ok(None);
    };
    if ModelTarget::of(request.model.as_deref()) != ModelTarget::Model {
        return Ok(None);
    }
    if request.streams() {
        return streamed(call, request).await;
    }
    let Some(asking) = model.pass(&request) else {
        return Ok(None);
    };
    let app = &call.app;
    let started = Instant::now();
    let answered = with_chat_timeout(app, async {
        let mut stream = asking.await?;
        app.metrics.model.record(started.elapsed());
        let mut words = Vec::new();
        let mut reply = Reply::default();
        while let Some(item) = stream.next().await {
            match item? {
                WireItem::Words(whole) => words = whole,
                WireItem::Turn(_) => {}
                WireItem::Event(event) => reply.fold(event),
            }
        }
        if !words.is_empty() {
            Ok(json_response(words))
        } else {
            json_body(&ChatCompletion::new(reply, Vec::new()))
        }
    });
    answered.await.map(Some)
}

/// Forwards a body and streams the response. The model is called inside the stream, so that the
/// client receives pings while the provider is silent.
async fn streamed(
    call: &RequestContext,
    request: WireRequest,
) -> Result<Option<Response>, ApiError> {
    let app = Arc::clone(&call.app);
    // Build the call to check that the model accepts it. This call is dropped. The stream makes it
    // again and sends pings while it waits.
    let takes = app
        .service
        .model()
        .map(|model| model.pass(&request).is_some());
    if takes != Some(true) {
        return Ok(None);
    }
    let told = ChatEncoder::new(None, request.asks_usage);
    let asking: PendingReply<_> = Box::pin(async move {
        let started = Instant::now();
        let asking = app.service.answering()?.pass(&request);
        let stream = asking.ok_or_else(model_changed)?.await?;
        app.metrics.model.record(started.elapsed());
        Ok(StreamingReply {
            stream,
            warnings: Vec::new(),
        })
    });
    event_stream::answer(call, asking, told).await.map(Some)
}

/// Returns the error for a model that accepted the request in the first check only.
fn model_changed() -> ModelError {
    let message = "the request can no longer be forwarded to the model unchanged";
    ModelError::new(ModelErrorKind::Configuration, message)
}
