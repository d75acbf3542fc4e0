//! Language models: each request returns one stream of events.
//!
//! A complete reply is the folded stream ([`Reply::fold`]), so streamed and complete replies share
//! one code path.

mod error;
mod event;
mod options;
mod reply;
mod tokens;
mod usage;
mod wire;

pub use error::{ModelError, ModelErrorKind};
pub use event::{ChatEvent, FinishReason, IncompleteReply};
pub use options::{
    ChatOptions, EXTRA_BODY, JsonSchemaFormat, REFUSABLE_PARAMETERS, ToolChoice, ToolOffer,
};
pub use reply::{ChatChoice, Reply};
pub use tokens::{Bytes4, TokenCounter};
pub use usage::Usage;
pub use wire::{PassthroughState, WireItem, WireRequest, WireStream};

use std::fmt;
use std::pin::Pin;

use futures_core::Stream;

use crate::{BoxFuture, Message};

/// A request to a model.
#[derive(Clone, Debug, Default)]
pub struct ChatRequest {
    /// The model's name; the implementation's default if `None`.
    pub model: Option<String>,
    /// The conversation, oldest first.
    pub messages: Vec<Message>,
    /// Generation parameters and tools.
    pub options: ChatOptions,
}

/// A streamed answer. Dropping it cancels the call to the provider.
pub type ChatStream = Pin<Box<dyn Stream<Item = Result<ChatEvent, ModelError>> + Send>>;

/// A language model, or a router to several. Runs no tools and keeps no history.
pub trait ChatModel: Send + Sync + fmt::Debug {
    /// Short description: `mock`, `openai at https://…`.
    fn describe(&self) -> String;

    /// Whether any model is configured. `false` for a router whose models all lack a key; requests
    /// then fail with an error that names the settings.
    fn is_configured(&self) -> bool {
        true
    }

    /// Sends a request. The future completes when the provider starts to answer, so an error here
    /// means that nothing was generated.
    fn stream(&self, request: ChatRequest) -> BoxFuture<'_, Result<ChatStream, ModelError>>;

    /// Passes a request through unchanged, if this model uses the same provider API. Otherwise
    /// returns `None` without sending anything; [`ChatModel::stream`] then reports the problem, if
    /// any.
    fn pass<'a>(
        &'a self,
        _request: &'a WireRequest,
    ) -> Option<BoxFuture<'a, Result<WireStream, ModelError>>> {
        None
    }
}
