//! Anthropic's Messages API: `POST /v1/messages`.

mod blocks;
mod caching;
mod decode;
mod failure;
mod generation;
mod message;
mod read;
mod schema;
mod thinking;
mod write;

use quillet_core::chat::{ChatRequest, ModelError};
use serde_json::Value;

use super::wire_name::ANTHROPIC as WIRE;
use super::{Decoder, Protocol, ProviderError};

/// API version; the only one since 2023.
const VERSION: &str = "2023-06-01";

/// Anthropic's Messages API.
///
/// Two members of [`quillet_core::chat::ChatOptions::extra`] configure the request and are not
/// added to its body: `prompt_caching` controls cache markers (`false`, `true`, or a lifetime of
/// `"5m"` or `"1h"`; the default is `true`), and `betas` contains names for the header
/// `anthropic-beta`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Anthropic;

impl Protocol for Anthropic {
    fn name(&self) -> &'static str {
        WIRE
    }

    fn path(&self, _model: &str) -> String {
        "/messages".to_owned()
    }

    fn headers(&self, key: Option<&str>) -> Vec<(&'static str, String)> {
        let key = key.map(|key| ("x-api-key", key.to_owned()));
        let version = ("anthropic-version", VERSION.to_owned());
        key.into_iter().chain([version]).collect()
    }

    fn request_headers(&self, request: &ChatRequest) -> Vec<(&'static str, String)> {
        let names: Vec<&str> = match request.options.extra.get("betas") {
            Some(Value::String(name)) => vec![name],
            Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
            _ => return Vec::new(),
        };
        vec![("anthropic-beta", names.join(","))]
    }

    fn write(&self, model: &str, request: &ChatRequest) -> Result<Value, ModelError> {
        write::body(model, request)
    }

    fn read(&self, body: &Value) -> Result<ChatRequest, ModelError> {
        read::request(body)
    }

    fn decoder(&self, model: &str) -> Box<dyn Decoder> {
        Box::new(decode::AnthropicDecoder::new(model))
    }

    fn refusal(&self, status: u16, body: &str) -> ProviderError {
        failure::refusal(status, body)
    }
}
