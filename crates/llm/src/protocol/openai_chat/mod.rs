//! OpenAI's Chat Completions API and compatible servers: DeepSeek, Mistral, OpenRouter, Groq, vLLM,
//! llama.cpp, Ollama and Azure.
//!
//! Compatible servers differ in details. Decoding adapts to each answer; encoding depends on the
//! fields of [`OpenAiChat`], which [`OpenAiChat::at`] sets according to the address.

mod ask;
mod calls;
mod decode;
mod dialect;
mod plain;
mod read;
mod state;
mod text;
mod usage;
mod write;

pub use ask::read_wire;
pub use dialect::{CallIds, OpenAiChat, ReasoningEcho, TokenField};
use quillet_core::chat::{ChatRequest, ModelError, WireRequest};
use serde_json::Value;

use super::wire_name::OPENAI_CHAT as WIRE;
use super::{Decoder, Protocol, ProviderError, openai_error};

impl Protocol for OpenAiChat {
    fn name(&self) -> &'static str {
        WIRE
    }

    fn path(&self, _model: &str) -> String {
        "/chat/completions".to_owned()
    }

    fn headers(&self, key: Option<&str>) -> Vec<(&'static str, String)> {
        let bearer = |key| ("authorization", format!("Bearer {key}"));
        key.map(bearer).into_iter().collect()
    }

    fn write(&self, model: &str, request: &ChatRequest) -> Result<Value, ModelError> {
        write::body(self, model, request)
    }

    fn read(&self, body: &Value) -> Result<ChatRequest, ModelError> {
        read::request(body)
    }

    fn pass(&self, model: &str, request: &WireRequest) -> Option<Vec<u8>> {
        ask::body(self, model, request)
    }

    fn decoder(&self, model: &str) -> Box<dyn Decoder> {
        Box::new(decode::ChatDecoder::new(
            model.to_owned(),
            self.include_usage,
        ))
    }

    fn refusal(&self, status: u16, body: &str) -> ProviderError {
        openai_error::refusal(status, body)
    }
}
