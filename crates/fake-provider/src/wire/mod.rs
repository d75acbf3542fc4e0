//! The four wires, from the provider's side.

mod anthropic;
pub(crate) mod gemini;
mod openai_chat;
mod openai_responses;
mod refusal;

use hyper::body::Bytes;
use serde_json::Value;

use crate::asked::Asked;
use crate::fault::Refusal;
use crate::turn::Turn;

/// When every answer was made, in seconds since 1970.
const CREATED: u64 = 1_760_000_001;

/// One of the four wires.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Wire {
    /// `POST …/chat/completions`
    OpenAiChat,
    /// `POST …/responses`
    OpenAiResponses,
    /// `POST …/messages`
    Anthropic,
    /// `POST …/models/MODEL:streamGenerateContent` and `:generateContent`
    Gemini,
}

impl Wire {
    /// All of them.
    pub const ALL: [Wire; 4] = [
        Wire::OpenAiChat,
        Wire::OpenAiResponses,
        Wire::Anthropic,
        Wire::Gemini,
    ];

    /// Its name, as in `conformance/providers` and in the product.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Wire::OpenAiChat => "openai-chat",
            Wire::OpenAiResponses => "openai-responses",
            Wire::Anthropic => "anthropic",
            Wire::Gemini => "gemini",
        }
    }

    /// The wire that a path belongs to.
    pub(crate) fn of_path(path: &str) -> Option<Self> {
        if gemini::target(path).is_some() {
            return Some(Wire::Gemini);
        }
        [
            ("/chat/completions", Wire::OpenAiChat),
            ("/responses", Wire::OpenAiResponses),
            ("/messages", Wire::Anthropic),
        ]
        .into_iter()
        .find_map(|(end, wire)| path.ends_with(end).then_some(wire))
    }

    /// The events of a streamed answer.
    pub(crate) fn stream(self, turn: &Turn, asked: &Asked) -> Vec<Frame> {
        match self {
            Wire::OpenAiChat => openai_chat::stream(turn, asked),
            Wire::OpenAiResponses => openai_responses::stream(turn, asked),
            Wire::Anthropic => anthropic::stream(turn, asked),
            Wire::Gemini => gemini::stream(turn, asked),
        }
    }

    /// The body of an answer that is no stream.
    pub(crate) fn whole(self, turn: &Turn, asked: &Asked) -> String {
        match self {
            Wire::OpenAiChat => openai_chat::whole(turn, asked),
            Wire::OpenAiResponses => openai_responses::whole(turn, asked),
            Wire::Anthropic => anthropic::whole(turn, asked),
            Wire::Gemini => gemini::whole(turn, asked),
        }
        .to_string()
    }

    /// An error in the middle of a stream, after so many frames.
    pub(crate) fn error_event(self, frames: usize) -> String {
        match self {
            Wire::OpenAiChat => openai_chat::error_event(),
            Wire::OpenAiResponses => openai_responses::error_event(frames),
            Wire::Anthropic => anthropic::error_event(),
            Wire::Gemini => gemini::error_event(),
        }
    }

    /// Status, headers and body of a refusal.
    pub(crate) fn refuse(
        self,
        refusal: &Refusal,
        asked: &Asked,
    ) -> (u16, Vec<(String, String)>, String) {
        refusal::refuse(self, refusal, asked)
    }
}

/// One event of a stream, as bytes.
#[derive(Debug)]
pub(crate) struct Frame {
    pub(crate) bytes: Bytes,
    pub(crate) mark: Mark,
}

/// What an event brings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    /// A piece of text, of reasoning, of arguments.
    Delta,
    /// The last piece of a call's arguments.
    LastArguments,
    /// None of these.
    Other,
}

impl Frame {
    /// `data:` alone.
    fn data(mark: Mark, data: &Value) -> Self {
        Frame {
            bytes: format!("data: {data}\n\n").into(),
            mark,
        }
    }

    /// `event:` and `data:`; the name is the data's type.
    fn typed(mark: Mark, data: &Value) -> Self {
        let name = data["type"].as_str().unwrap_or_default();
        Frame {
            bytes: format!("event: {name}\ndata: {data}\n\n").into(),
            mark,
        }
    }
}

/// The mark of one of so many pieces of arguments.
fn arguments_mark(index: usize, of: usize) -> Mark {
    if index + 1 == of {
        Mark::LastArguments
    } else {
        Mark::Delta
    }
}
