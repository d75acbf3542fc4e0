//! Anthropic's messages wire: `POST /v1/messages`.
//!
//! What models of which generation take stands here; nothing else in this folder
//! knows names of models.

mod blocks;
mod caching;
mod decode;
mod failure;
mod read;
mod schema;
mod thinking;
mod write;

use quillet_core::chat::{ChatRequest, ModelError};
use serde_json::Value;

use super::{Decoder, Protocol, ProviderError};

/// The wire's name, also in [`quillet_core::NativeTurn::wire`].
const WIRE: &str = "anthropic";

/// The version of the wire, of which there has been only this one since 2023.
const VERSION: &str = "2023-06-01";

/// Anthropic's messages wire.
///
/// Of [`quillet_core::chat::ChatOptions::extra`] two members are this wire's own and
/// are not sent as they are: `prompt_caching` (`false`, `true`, or how long to keep:
/// `"5m"`, `"1h"`; the default is `true`) and `betas` (names for the header
/// `anthropic-beta`).
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

/// The generation in a name: `claude-opus-4-6` and `claude-4.6-opus` are (4, 6).
/// `None` for models of others that speak this wire.
fn generation(model: &str) -> Option<(u32, u32)> {
    let (_, name) = model.split_once("claude-")?;
    let words = name.split(['-', '.', '@', ':']);
    // A date is no version.
    let mut numbers = words
        .filter_map(|word| word.parse().ok())
        .filter(|&number| number < 100);
    Some((numbers.next()?, numbers.next().unwrap_or(0)))
}

/// Whether instructions may stand between turns (documented for Opus 4.8 and what
/// came after it, without a beta).
fn takes_later_instructions(model: &str) -> bool {
    generation(model).is_some_and(|generation| generation >= (4, 8))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generations_are_read_from_names() {
        let cases = [
            ("claude-3-7-sonnet-20250219", Some((3, 7))),
            ("claude-opus-4-20250514", Some((4, 0))),
            ("claude-opus-4-6", Some((4, 6))),
            ("anthropic/claude-haiku-4.5", Some((4, 5))),
            ("us.anthropic.claude-opus-4-6-v1:0", Some((4, 6))),
            ("claude-opus-5", Some((5, 0))),
            ("claude-instant", None),
            ("kimi-k2", None),
        ];
        for (name, expected) in cases {
            assert_eq!(generation(name), expected, "{name}");
        }
    }
}
