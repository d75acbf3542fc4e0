//! The four wires, from the provider's side.

mod anthropic;
pub(crate) mod gemini;
mod openai_chat;
mod openai_responses;
mod refusal;

use hyper::body::Bytes;
use serde_json::Value;

use crate::fault::ErrorResponse;
use crate::request::RecordedRequest;
use crate::turn::ScriptedReply;

/// When every answer was made, in seconds since 1970.
const CREATED: u64 = 1_760_000_001;

/// One of the four wires.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ProviderApi {
    /// `POST …/chat/completions`
    OpenAiChat,
    /// `POST …/responses`
    OpenAiResponses,
    /// `POST …/messages`
    Anthropic,
    /// `POST …/models/MODEL:streamGenerateContent` and `:generateContent`
    Gemini,
}

impl ProviderApi {
    /// All of them.
    pub const ALL: [ProviderApi; 4] = [
        ProviderApi::OpenAiChat,
        ProviderApi::OpenAiResponses,
        ProviderApi::Anthropic,
        ProviderApi::Gemini,
    ];

    /// Its name, as in `conformance/providers` and in the product.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            ProviderApi::OpenAiChat => "openai-chat",
            ProviderApi::OpenAiResponses => "openai-responses",
            ProviderApi::Anthropic => "anthropic",
            ProviderApi::Gemini => "gemini",
        }
    }

    /// The wire that a path belongs to.
    pub(crate) fn of_path(path: &str) -> Option<Self> {
        if gemini::target(path).is_some() {
            return Some(ProviderApi::Gemini);
        }
        [
            ("/chat/completions", ProviderApi::OpenAiChat),
            ("/responses", ProviderApi::OpenAiResponses),
            ("/messages", ProviderApi::Anthropic),
        ]
        .into_iter()
        .find_map(|(end, wire)| path.ends_with(end).then_some(wire))
    }

    /// The events of a streamed answer.
    pub(crate) fn stream(self, turn: &ScriptedReply, asked: &RecordedRequest) -> Vec<StreamEvent> {
        match self {
            ProviderApi::OpenAiChat => openai_chat::stream(turn, asked),
            ProviderApi::OpenAiResponses => openai_responses::stream(turn, asked),
            ProviderApi::Anthropic => anthropic::stream(turn, asked),
            ProviderApi::Gemini => gemini::stream(turn, asked),
        }
    }

    /// The body of an answer that is no stream.
    pub(crate) fn whole(self, turn: &ScriptedReply, asked: &RecordedRequest) -> String {
        match self {
            ProviderApi::OpenAiChat => openai_chat::whole(turn, asked),
            ProviderApi::OpenAiResponses => openai_responses::whole(turn, asked),
            ProviderApi::Anthropic => anthropic::whole(turn, asked),
            ProviderApi::Gemini => gemini::whole(turn, asked),
        }
        .to_string()
    }

    /// An error in the middle of a stream, after so many frames.
    pub(crate) fn error_event(self, frames: usize) -> String {
        match self {
            ProviderApi::OpenAiChat => openai_chat::error_event(),
            ProviderApi::OpenAiResponses => openai_responses::error_event(frames),
            ProviderApi::Anthropic => anthropic::error_event(),
            ProviderApi::Gemini => gemini::error_event(),
        }
    }

    /// Status, headers and body of a refusal.
    pub(crate) fn refuse(
        self,
        refusal: &ErrorResponse,
        asked: &RecordedRequest,
    ) -> (u16, Vec<(String, String)>, String) {
        refusal::refuse(self, refusal, asked)
    }
}

/// One event of a stream, as bytes.
#[derive(Debug)]
pub(crate) struct StreamEvent {
    pub(crate) bytes: Bytes,
    pub(crate) mark: EventKind,
}

/// What an event brings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventKind {
    /// A piece of text, of reasoning, of arguments.
    Delta,
    /// The last piece of a call's arguments.
    LastArguments,
    /// None of these.
    Other,
}

impl StreamEvent {
    /// `data:` alone.
    fn data(mark: EventKind, data: &Value) -> Self {
        StreamEvent {
            bytes: format!("data: {data}\n\n").into(),
            mark,
        }
    }

    /// `event:` and `data:`; the name is the data's type.
    fn typed(mark: EventKind, data: &Value) -> Self {
        let name = data["type"].as_str().unwrap_or_default();
        StreamEvent {
            bytes: format!("event: {name}\ndata: {data}\n\n").into(),
            mark,
        }
    }
}

/// The mark of one of so many pieces of arguments.
fn arguments_mark(index: usize, of: usize) -> EventKind {
    if index + 1 == of {
        EventKind::LastArguments
    } else {
        EventKind::Delta
    }
}
