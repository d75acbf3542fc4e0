//! OpenAI's Responses API and compatible servers.
//!
//! The provider stores nothing: `store` is false unless the request sets it. The state of a turn
//! (encrypted reasoning, items of built-in tools) is stored in the message as the unchanged output
//! items.

mod decode;
mod item;
mod read;
mod turn;
mod write;

use quillet_core::chat::{ChatRequest, ModelError};
use serde_json::Value;

use super::wire_name::OPENAI_RESPONSES as WIRE;
use super::{Decoder, Protocol, ProviderError, openai_error};

/// OpenAI's Responses API.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpenAiResponses;

impl Protocol for OpenAiResponses {
    fn name(&self) -> &'static str {
        WIRE
    }

    fn path(&self, _model: &str) -> String {
        "/responses".to_owned()
    }

    fn headers(&self, key: Option<&str>) -> Vec<(&'static str, String)> {
        let bearer = |key| ("authorization", format!("Bearer {key}"));
        key.map(bearer).into_iter().collect()
    }

    fn write(&self, model: &str, request: &ChatRequest) -> Result<Value, ModelError> {
        write::body(model, request)
    }

    fn read(&self, body: &Value) -> Result<ChatRequest, ModelError> {
        read::request(body)
    }

    fn decoder(&self, model: &str) -> Box<dyn Decoder> {
        Box::new(decode::ResponsesDecoder::new(model.to_owned()))
    }

    fn refusal(&self, status: u16, body: &str) -> ProviderError {
        openai_error::refusal(status, body)
    }
}
