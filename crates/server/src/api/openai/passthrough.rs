//! Requests that reach the provider as the client wrote them, and answers that reach the client as
//! the provider wrote them.
//!
//! Where a client asks a model of a server that speaks its wire, reading a question and
//! writing it again gives what came, and so with the answer. Then both go through as bytes,
//! after one look that finds what reading would: a question that is anything but plain goes
//! the other way before it is sent, an answer from the first piece on that is.

use std::sync::Arc;
use std::time::Instant;

use axum::response::Response;
use futures_util::StreamExt;
use quillet_core::chat::{ModelError, ModelErrorKind, Reply, WireItem, WireRequest};

use super::chat::ChatEncoder;
use super::target::ModelTarget;
use crate::api::chat::in_time;
use crate::api::completion::ChatCompletion;
use crate::api::event_stream::{self, PendingReply, StreamingReply};
use crate::api::{json, json_of};
use crate::error::ApiError;
use crate::request_context::RequestContext;

/// The answer to a body that can be passed on as it is; `None` where it cannot, and nothing
/// has been done then.
pub(super) async fn answer(
    call: &RequestContext,
    body: &[u8],
) -> Result<Option<Response>, ApiError> {
    let Some(model) = call.app.service.model() else {
        return Ok(None);
    };
    if call.exchange.instead().is_some() {
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
    let answered = in_time(app, async {
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
            Ok(json_of(words))
        } else {
            json(&ChatCompletion::new(reply, Vec::new()))
        }
    });
    answered.await.map(Some)
}

/// The same as events. The model is asked in the future that the answer is made of, so that the
/// client gets signs of life while the provider lets it wait.
async fn streamed(
    call: &RequestContext,
    request: WireRequest,
) -> Result<Option<Response>, ApiError> {
    let app = Arc::clone(&call.app);
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
        let stream = asking.ok_or_else(changed)?.await?;
        app.metrics.model.record(started.elapsed());
        Ok(StreamingReply {
            stream,
            warnings: Vec::new(),
        })
    });
    event_stream::answer(call, asking, told).await.map(Some)
}

/// The model took the request a moment ago.
fn changed() -> ModelError {
    let message = "the model does not take the request as it is any more";
    ModelError::new(ModelErrorKind::Configuration, message)
}
