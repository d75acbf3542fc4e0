//! The four provider APIs, from the provider's side.

mod anthropic;
pub(crate) mod event;
mod gemini;
mod openai_chat;
mod openai_responses;
mod refusal;

use self::event::StreamEvent;
use crate::fault::ErrorResponse;
use crate::provider_api::ProviderApi;
use crate::request::RecordedRequest;
use crate::turn::ScriptedReply;

impl ProviderApi {
    /// Returns the events of a streamed response.
    pub(crate) fn stream(self, turn: &ScriptedReply, asked: &RecordedRequest) -> Vec<StreamEvent> {
        match self {
            ProviderApi::OpenAiChat => openai_chat::stream(turn, asked),
            ProviderApi::OpenAiResponses => openai_responses::stream(turn, asked),
            ProviderApi::Anthropic => anthropic::stream(turn, asked),
            ProviderApi::Gemini => gemini::stream(turn, asked),
        }
    }

    /// Returns the body of a response that is not a stream.
    pub(crate) fn whole(self, turn: &ScriptedReply, asked: &RecordedRequest) -> String {
        match self {
            ProviderApi::OpenAiChat => openai_chat::whole(turn, asked),
            ProviderApi::OpenAiResponses => openai_responses::whole(turn, asked),
            ProviderApi::Anthropic => anthropic::whole(turn, asked),
            ProviderApi::Gemini => gemini::whole(turn, asked),
        }
        .to_string()
    }

    /// Returns an error event for a stream after this many events.
    pub(crate) fn error_event(self, frames: usize) -> String {
        match self {
            ProviderApi::OpenAiChat => openai_chat::error_event(),
            ProviderApi::OpenAiResponses => openai_responses::error_event(frames),
            ProviderApi::Anthropic => anthropic::error_event(),
            ProviderApi::Gemini => gemini::error_event(),
        }
    }

    /// Returns the status, headers and body of an error response.
    pub(crate) fn refuse(
        self,
        refusal: &ErrorResponse,
        asked: &RecordedRequest,
    ) -> (u16, Vec<(String, String)>, String) {
        refusal::refuse(self, refusal, asked)
    }
}
