//! Requests and answers in a provider's own words, for models that can be asked in the words
//! in which a client asks. Then nothing has to be read into types and written again.

use std::pin::Pin;

use futures_core::Stream;

use super::{ChatEvent, ModelError};

/// A request in the words of a wire, as a client sent it, and what has been seen in it. Whoever
/// makes one has made sure that the wire's own writer would say the same.
#[derive(Clone, Debug, Default)]
pub struct WireRequest {
    /// The wire, as [`crate::NativeTurn::wire`] names it.
    pub wire: &'static str,
    /// The body: one JSON object.
    pub body: Vec<u8>,
    /// The model that it names.
    pub model: Option<String>,
    /// Whether the answer is to come as events, where it says so.
    pub stream: Option<bool>,
    /// Whether it asks what a streamed answer costs.
    pub asks_usage: bool,
    /// Whether ids of calls are in it: of those that were made, or of their results.
    pub has_calls: bool,
    /// Under which name it limits the tokens of the answer, if it does.
    pub token_limit: Option<&'static str>,
}

impl WireRequest {
    /// Whether the answer is to come as events.
    #[must_use]
    pub fn streams(&self) -> bool {
        self.stream == Some(true)
    }
}

/// A piece of an answer in a wire's own words.
#[derive(Clone, Debug, PartialEq)]
pub enum WireItem {
    /// Bytes that can be passed to the client as they are: whole events of a stream, or all of an
    /// answer that is none.
    Words(Vec<u8>),
    /// What follows such bytes comes as events, since the provider began to speak otherwise than
    /// the wire's own provider does. Comes once, after words and before events.
    Turn(PassthroughState),
    /// An event.
    Event(ChatEvent),
}

/// What clients have read in words by now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PassthroughState {
    /// The provider's id of the answer.
    pub id: String,
    /// The model that answers.
    pub model: String,
    /// Seconds since 1970.
    pub created: u64,
    /// Which of `n` answers have begun.
    pub begun: Vec<u32>,
}

/// An answer in a wire's own words. Dropping it ends the call to the provider.
pub type WireStream = Pin<Box<dyn Stream<Item = Result<WireItem, ModelError>> + Send>>;
