//! The contract with language models: one request, one stream of events.
//!
//! A whole reply is the folded stream ([`Reply::fold`]); there is no second path.

mod error;
mod event;
mod options;
mod reply;
mod tokens;
mod usage;
mod wire;

pub use error::{ModelError, ModelErrorKind};
pub use event::{ChatEvent, FinishReason, IncompleteReply};
pub use options::{ChatOptions, JsonSchemaFormat, ToolChoice, ToolOffer};
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
    /// The model's name; the implementation's default where `None`.
    pub model: Option<String>,
    /// The conversation, oldest first.
    pub messages: Vec<Message>,
    /// How to answer, and with which tools.
    pub options: ChatOptions,
}

/// A streamed answer. Dropping it ends the call to the provider.
pub type ChatStream = Pin<Box<dyn Stream<Item = Result<ChatEvent, ModelError>> + Send>>;

/// A language model, or a router to many. Never runs tools, keeps no history.
pub trait ChatModel: Send + Sync + fmt::Debug {
    /// What it is, in a word or two: `mock`, `openai at https://…`.
    fn describe(&self) -> String;

    /// Whether anything is set up that could answer. A router to models of which none has a key
    /// says no; a request is then answered with an error that names what to set.
    fn is_configured(&self) -> bool {
        true
    }

    /// Asks; the future is ready when the provider has begun to answer, so an
    /// error here means that nothing has been generated.
    fn stream(&self, request: ChatRequest) -> BoxFuture<'_, Result<ChatStream, ModelError>>;

    /// Asks in the words of a wire, if this model is asked in the same ones. `None` where it
    /// is not, or where anything else speaks against it: nothing has been sent then, and
    /// [`ChatModel::stream`] says what is wrong.
    fn pass<'a>(
        &'a self,
        _request: &'a WireRequest,
    ) -> Option<BoxFuture<'a, Result<WireStream, ModelError>>> {
        None
    }
}
