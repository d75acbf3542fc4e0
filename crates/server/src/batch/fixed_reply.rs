//! Replacement models for rows that go through a provider's batch API. One captures the request,
//! and the other returns the provider's result. So the same code parses, renders and answers a row
//! in both cases.

use std::sync::Mutex;

use futures_util::stream::iter;
use quillet_core::BoxFuture;
use quillet_core::chat::{
    ChatEvent, ChatModel, ChatRequest, ChatStream, ModelError, ModelErrorKind,
};
use quillet_core::lock::lock;

/// Captures the request and does not reply.
#[derive(Debug, Default)]
pub(super) struct Collector(Mutex<Option<ChatRequest>>);

impl Collector {
    /// Returns the captured request.
    pub(super) fn take(&self) -> Option<ChatRequest> {
        lock(&self.0).take()
    }
}

impl ChatModel for Collector {
    fn describe(&self) -> String {
        "a batch".to_owned()
    }

    fn stream(&self, request: ChatRequest) -> BoxFuture<'_, Result<ChatStream, ModelError>> {
        *lock(&self.0) = Some(request);
        // The error ends the row's request after the model call is captured. The response to this
        // error is discarded.
        let message = "the row is sent with its batch";
        let error = ModelError::new(ModelErrorKind::Configuration, message);
        Box::pin(async move { Err(error) })
    }
}

/// Replies with a known result.
#[derive(Debug)]
pub(super) struct FixedReply(Mutex<Option<Result<Vec<ChatEvent>, ModelError>>>);

impl FixedReply {
    pub(super) fn new(answer: Result<Vec<ChatEvent>, ModelError>) -> Self {
        FixedReply(Mutex::new(Some(answer)))
    }
}

impl ChatModel for FixedReply {
    fn describe(&self) -> String {
        "a batch".to_owned()
    }

    fn stream(&self, _: ChatRequest) -> BoxFuture<'_, Result<ChatStream, ModelError>> {
        let known = lock(&self.0).take();
        Box::pin(async move {
            let message = "a row can call its model only once";
            let again = ModelError::new(ModelErrorKind::Refused, message);
            let events = known.unwrap_or(Err(again))?;
            Ok(Box::pin(iter(events.into_iter().map(Ok))) as ChatStream)
        })
    }
}
