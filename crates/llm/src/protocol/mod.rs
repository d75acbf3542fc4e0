//! Provider APIs: encoding of requests and decoding of answers. Pure functions over JSON and bytes,
//! without any network access, so recorded answers can be decoded directly.

mod anthropic;
mod call_id;
mod data_url;
mod gemini;
pub(crate) mod made;
mod openai_chat;
mod openai_error;
mod openai_responses;
mod wire_name;

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

/// A provider API.
///
/// # Examples
///
/// ```
/// use quillet_core::chat::ChatRequest;
/// use quillet_core::{Message, Role};
/// use quillet_llm::{OpenAiChat, Protocol};
///
/// let request = ChatRequest {
///     messages: vec![Message::new(Role::User, "Hello")],
///     ..ChatRequest::default()
/// };
/// let body = OpenAiChat::default().write("gpt-4o", &request)?;
/// assert_eq!(body["model"], "gpt-4o");
/// assert_eq!(body["messages"][0]["content"], "Hello");
/// # Ok::<(), quillet_core::chat::ModelError>(())
/// ```
pub trait Protocol: Send + Sync + fmt::Debug {
    /// Name of the API: `openai-chat`, `openai-responses`, `anthropic` or `gemini`. It is also
    /// stored in [`quillet_core::NativeTurn::wire`].
    fn name(&self) -> &'static str;

    /// Path and query of the method for streamed answers, relative to the normalized base URL
    /// (which ends before `/chat/completions`, `/responses`, `/messages` or `/models/…`).
    fn path(&self, model: &str) -> String;

    /// Headers of the API in addition to the configured ones. All values are treated as secret.
    fn headers(&self, key: Option<&str>) -> Vec<(&'static str, String)>;

    /// Headers that depend on the request. They contain no secret; most APIs have none.
    fn request_headers(&self, _request: &ChatRequest) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// The body of a request for a streamed answer.
    ///
    /// # Errors
    /// The API cannot express a part of the request; the error contains its location in the
    /// conversation.
    fn write(&self, model: &str, request: &ChatRequest) -> Result<Value, ModelError>;

    /// Parses a request body of this API, as a client of the provider would send it.
    ///
    /// # Errors
    /// The body is invalid; the error contains the location.
    fn read(&self, body: &Value) -> Result<ChatRequest, ModelError>;

    /// Returns the body for a request in the format of this API, if it is equivalent to what
    /// [`Protocol::write`] would produce.
    fn pass(&self, _model: &str, _request: &WireRequest) -> Option<Vec<u8>> {
        None
    }

    /// Returns a decoder for one answer of this model.
    fn decoder(&self, model: &str) -> Box<dyn Decoder>;

    /// Interprets an answer with an error status.
    fn refusal(&self, status: u16, body: &str) -> ProviderError;
}

/// Decodes one answer.
pub trait Decoder: Send {
    /// Decodes an event of the stream: its name, if it has one, and its data.
    ///
    /// # Errors
    /// The provider reports a failure, or the data is invalid.
    fn event(
        &mut self,
        name: Option<&str>,
        data: &[u8],
        events: &mut Vec<ChatEvent>,
    ) -> Result<(), ModelError>;

    /// Decodes an unstreamed answer.
    ///
    /// # Errors
    /// Same as [`Decoder::event`].
    fn decode_body(&mut self, body: &[u8], events: &mut Vec<ChatEvent>) -> Result<(), ModelError>;

    /// Ends the answer, after the last byte of the body.
    ///
    /// # Errors
    /// [`ModelErrorKind::Cut`] if the answer is incomplete.
    fn end(&mut self, events: &mut Vec<ChatEvent>) -> Result<(), ModelError>;

    /// Whether the answer is complete, so the rest of the body can be ignored.
    fn is_done(&self) -> bool;

    /// Checks whether an event can be passed to the client unchanged. If so, it counts as decoded;
    /// otherwise the state does not change, and the caller must decode the event.
    fn pass(&mut self, _name: Option<&str>, _data: &[u8]) -> PassthroughCheck {
        PassthroughCheck::No
    }

    /// Checks an unstreamed answer in the same way.
    fn accept_whole(&mut self, _body: &[u8]) -> bool {
        false
    }

    /// Returns the state of the answer that was passed through so far.
    fn passthrough_state(&self) -> PassthroughState {
        PassthroughState::default()
    }
}

/// Whether a chunk has the exact format of the API's own provider, so decoding and encoding it
/// would not change it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PassthroughCheck {
    /// The chunk can be passed through.
    Yes,
    /// The chunk can be passed through and contains only the usage.
    Usage,
    /// The chunk cannot be passed through, or this is unknown.
    No,
}

/// An error response of a provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderError {
    /// The kind of error.
    pub kind: ModelErrorKind,
    /// The provider's error message.
    pub message: String,
    /// The provider's error code.
    pub code: Option<String>,
    /// The wait time requested in the body.
    pub retry_after: Option<Duration>,
}

/// Error for an invalid event or answer.
fn broken(cause: impl Into<String>) -> ModelError {
    ModelError::new(ModelErrorKind::Protocol, cause)
}

/// Parses the JSON of an event.
fn parse<'d, T: Deserialize<'d>>(data: &'d [u8]) -> Result<T, ModelError> {
    /// Maximum number of bytes of invalid data in an error message.
    const MOST_SHOWN: usize = 80;
    serde_json::from_slice(data).map_err(|error| {
        let seen = String::from_utf8_lossy(data.get(..MOST_SHOWN).unwrap_or(data));
        broken(format!("unexpected event ({error}): {seen}"))
    })
}

/// Error for content that a provider API cannot express.
fn unsupported(place: &str, cause: &str) -> ModelError {
    ModelError::new(ModelErrorKind::Refused, format!("{place}: {cause}"))
}

/// Parses a member of a request body.
fn member<T: DeserializeOwned>(name: &str, value: &Value) -> Result<T, ModelError> {
    T::deserialize(value).map_err(|error| unsupported(name, &error.to_string()))
}

/// Returns the native content of a message, if it came from this API.
fn native<'m>(message: &'m Message, wire: &str) -> Option<&'m Vec<Value>> {
    let native = message.native.as_ref()?;
    let content = native.content.as_array();
    content.filter(|content| native.wire == wire && content.iter().all(Value::is_object))
}
