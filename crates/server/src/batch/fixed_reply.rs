//! What answers in place of a model while a row goes through its route: once to see what would be
//! asked, and once more with what a provider's batch API has answered. So a row is read, rendered
//! and answered by the same code, whichever way it is asked.

use std::sync::{Mutex, PoisonError};

use futures_util::stream::iter;
use quillet_core::BoxFuture;
use quillet_core::chat::{
    ChatEvent, ChatModel, ChatRequest, ChatStream, ModelError, ModelErrorKind,
};

/// Keeps the request, and does not answer.
#[derive(Debug, Default)]
pub(super) struct Collector(Mutex<Option<ChatRequest>>);

impl Collector {
    /// What was to be asked.
    pub(super) fn take(&self) -> Option<ChatRequest> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl ChatModel for Collector {
    fn describe(&self) -> String {
        "a batch".to_owned()
    }

    fn stream(&self, request: ChatRequest) -> BoxFuture<'_, Result<ChatStream, ModelError>> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(request);
        let message = "the row is asked with its batch";
        let error = ModelError::new(ModelErrorKind::Configuration, message);
        Box::pin(async move { Err(error) })
    }
}

/// Answers what is known.
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
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        Box::pin(async move {
            let message = "a row asks its model once";
            let again = ModelError::new(ModelErrorKind::Refused, message);
            let events = known.unwrap_or(Err(again))?;
            Ok(Box::pin(iter(events.into_iter().map(Ok))) as ChatStream)
        })
    }
}
