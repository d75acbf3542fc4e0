//! Pass-through of requests and answers in a provider's own format. Used if client and model have
//! the same provider API, to avoid decoding and encoding each message.

use std::pin::Pin;

use futures_core::Stream;

use super::{ChatEvent, ModelError};

/// A client's request in the format of a provider API, and the properties read from it. The code
/// that creates it has checked that the encoder of that API would write an equivalent body.
#[derive(Clone, Debug, Default)]
pub struct WireRequest {
    /// The provider API, named as in [`crate::NativeTurn::wire`].
    pub wire: &'static str,
    /// The body: one JSON object.
    pub body: Vec<u8>,
    /// The model in the body.
    pub model: Option<String>,
    /// Whether a streamed answer is requested; `None` if the body does not specify it.
    pub stream: Option<bool>,
    /// Whether usage is requested in a streamed answer.
    pub asks_usage: bool,
    /// Whether it contains ids of tool calls or of their results.
    pub has_calls: bool,
    /// Name of the parameter that limits the tokens of the answer, if set.
    pub token_limit: Option<&'static str>,
    /// The parameters in the body that some models refuse
    /// ([`REFUSABLE_PARAMETERS`](super::REFUSABLE_PARAMETERS)).
    pub refusable: Vec<&'static str>,
}

impl WireRequest {
    /// Whether a streamed answer is requested.
    #[must_use]
    pub fn streams(&self) -> bool {
        self.stream == Some(true)
    }
}

/// Part of a passed-through answer.
#[derive(Clone, Debug, PartialEq)]
pub enum WireItem {
    /// Bytes to send to the client unchanged: complete events of a stream, or a whole unstreamed
    /// answer.
    Words(Vec<u8>),
    /// State for the remaining answer, which follows as events, because the provider started to
    /// deviate from the format of its API. Sent once, after bytes and before events.
    Turn(PassthroughState),
    /// An event.
    Event(ChatEvent),
}

/// State of an answer of which the client has so far received unmodified bytes from the provider.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PassthroughState {
    /// The provider's id of the answer.
    pub id: String,
    /// The model that answers.
    pub model: String,
    /// Creation time in seconds since 1970.
    pub created: u64,
    /// Indexes of the answers that have started.
    pub begun: Vec<u32>,
}

/// A passed-through answer. Dropping it cancels the call to the provider.
pub type WireStream = Pin<Box<dyn Stream<Item = Result<WireItem, ModelError>> + Send>>;
