//! What every provider's wire has to say: the request it wants, and what its
//! answer means. Pure functions over JSON and bytes; who sends and receives them
//! is not their business, so that recorded answers can be fed in as they are.

mod anthropic;
mod call_id;
mod data_url;
mod gemini;
pub(crate) mod made;
mod openai_chat;
mod openai_error;
mod openai_responses;

pub use anthropic::Anthropic;
pub use gemini::Gemini;
pub use openai_chat::{CallIds, OpenAiChat, ReasoningEcho, TokenField, read_wire};
pub use openai_responses::OpenAiResponses;

use std::fmt;
use std::time::Duration;

use quillet_core::Message;
use quillet_core::chat::{
    ChatEvent, ChatRequest, ModelError, ModelErrorKind, PassthroughState, WireRequest,
};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// One provider's wire.
pub trait Protocol: Send + Sync + fmt::Debug {
    /// Its name: `openai-chat`, `openai-responses`, `anthropic`, `gemini`; also the
    /// name in [`quillet_core::NativeTurn::wire`].
    fn name(&self) -> &'static str;

    /// Where a streamed answer is asked for: path and query below the base URL, which
    /// the endpoint has brought into the wire's form (it ends before `/chat/completions`,
    /// `/responses`, `/messages` or `/models/…`).
    fn path(&self, model: &str) -> String;

    /// Headers besides the configured ones; the value of the key is kept secret.
    fn headers(&self, key: Option<&str>) -> Vec<(&'static str, String)>;

    /// Headers that this request asks for; they hold no secret. Most wires have none.
    fn request_headers(&self, _request: &ChatRequest) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// The body of a request for a streamed answer.
    ///
    /// # Errors
    /// What cannot be said in this wire, with its place in the conversation.
    fn write(&self, model: &str, request: &ChatRequest) -> Result<Value, ModelError>;

    /// Reads a body of this wire, as a client of the provider would send it.
    ///
    /// # Errors
    /// What is wrong with it, with its place.
    fn read(&self, body: &Value) -> Result<ChatRequest, ModelError>;

    /// The body of a request that is in this wire's words already, where it says the same as
    /// the one that [`Protocol::write`] would write.
    fn pass(&self, _model: &str, _request: &WireRequest) -> Option<Vec<u8>> {
        None
    }

    /// Reads one answer to a request for this model.
    fn decoder(&self, model: &str) -> Box<dyn Decoder>;

    /// What a refusal means: an answer whose status is no success.
    fn refusal(&self, status: u16, body: &str) -> ProviderError;
}

/// Reads one answer.
pub trait Decoder: Send {
    /// An event of the stream: its name, if it has one, and its data.
    ///
    /// # Errors
    /// The provider reports a failure, or the data is not what it should be.
    fn event(
        &mut self,
        name: Option<&str>,
        data: &[u8],
        events: &mut Vec<ChatEvent>,
    ) -> Result<(), ModelError>;

    /// An answer that is no stream.
    ///
    /// # Errors
    /// As in [`Decoder::event`].
    fn whole(&mut self, body: &[u8], events: &mut Vec<ChatEvent>) -> Result<(), ModelError>;

    /// The body has ended.
    ///
    /// # Errors
    /// [`ModelErrorKind::Cut`] if the answer has not.
    fn end(&mut self, events: &mut Vec<ChatEvent>) -> Result<(), ModelError>;

    /// Whether the answer is complete, so that what follows need not be waited for.
    fn is_done(&self) -> bool;

    /// Looks at an event of a stream that may be passed to the client as it is. What is plain
    /// counts as read; what is not has changed nothing, and is read as an event.
    fn pass(&mut self, _name: Option<&str>, _data: &[u8]) -> Plain {
        Plain::No
    }

    /// The same for an answer that is no stream.
    fn accept_whole(&mut self, _body: &[u8]) -> bool {
        false
    }

    /// What has been passed on by now, after pieces that were plain.
    fn told(&self) -> PassthroughState {
        PassthroughState::default()
    }
}

/// Whether a piece of an answer is as the wire's own provider writes it, so that reading it and
/// writing it again would give nothing but the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plain {
    /// It is.
    Yes,
    /// It is, and says what an answer costs, in a piece of its own.
    Usage,
    /// It is not, or nobody has looked.
    No,
}

/// What a provider's refusal means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderError {
    /// What kind of failure it is.
    pub kind: ModelErrorKind,
    /// The provider's own text.
    pub message: String,
    /// The provider's own code.
    pub code: Option<String>,
    /// How long the provider asks to wait, where its body says so.
    pub retry_after: Option<Duration>,
}

/// An event, or a whole answer, that a wire's own provider would not send.
fn broken(cause: impl Into<String>) -> ModelError {
    ModelError::new(ModelErrorKind::Protocol, cause)
}

/// The JSON of an event.
fn parse<'d, T: Deserialize<'d>>(data: &'d [u8]) -> Result<T, ModelError> {
    /// How much of what cannot be read an error repeats, in bytes.
    const MOST_SHOWN: usize = 80;
    serde_json::from_slice(data).map_err(|error| {
        let seen = String::from_utf8_lossy(data.get(..MOST_SHOWN).unwrap_or(data));
        broken(format!(
            "an event is not what it should be ({error}): {seen}"
        ))
    })
}

/// What cannot be said in a wire.
fn unsayable(place: &str, cause: &str) -> ModelError {
    ModelError::new(ModelErrorKind::Refused, format!("{place}: {cause}"))
}

/// A member of a request's body.
fn member<T: DeserializeOwned>(name: &str, value: &Value) -> Result<T, ModelError> {
    T::deserialize(value).map_err(|error| unsayable(name, &error.to_string()))
}

/// The objects that a wire itself wrote into a message.
fn native<'m>(message: &'m Message, wire: &str) -> Option<&'m Vec<Value>> {
    let native = message.native.as_ref()?;
    let content = native.content.as_array();
    content.filter(|content| native.wire == wire && content.iter().all(Value::is_object))
}
