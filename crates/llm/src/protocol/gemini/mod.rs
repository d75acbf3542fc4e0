//! Gemini's API: `models/…:generateContent` and `…:streamGenerateContent`.

mod decode;
mod failure;
mod generation;
mod partial;
mod parts;
mod read;
mod write;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use quillet_core::chat::{ChatRequest, ModelError};
use serde_json::Value;

use super::wire_name::GEMINI as WIRE;
use super::{Decoder, Protocol, ProviderError};

/// Characters to escape in a model name inside a path.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'@');

/// Gemini API, in the version that the base URL specifies (`/v1beta`).
///
/// Members of [`quillet_core::chat::ChatOptions::extra`] that belong in `generationConfig` (`topK`,
/// `seed`, `thinkingConfig` …) are added there; all others (`safetySettings`, `cachedContent`,
/// `labels` …) are added at the top level of the body.
#[derive(Clone, Copy, Debug, Default)]
pub struct Gemini;

impl Protocol for Gemini {
    fn name(&self) -> &'static str {
        WIRE
    }

    /// The name may include the kind of resource: `tunedModels/…`.
    fn path(&self, model: &str) -> String {
        let segments = model
            .split('/')
            .filter(|part| !matches!(*part, "" | "." | ".."));
        let name: Vec<String> = segments
            .map(|part| utf8_percent_encode(part, PLAIN).to_string())
            .collect();
        let folder = if name.len() < 2 { "models/" } else { "" };
        format!("/{folder}{}:streamGenerateContent?alt=sse", name.join("/"))
    }

    fn headers(&self, key: Option<&str>) -> Vec<(&'static str, String)> {
        key.map(|key| ("x-goog-api-key", key.to_owned()))
            .into_iter()
            .collect()
    }

    fn write(&self, model: &str, request: &ChatRequest) -> Result<Value, ModelError> {
        write::body(model, request)
    }

    fn read(&self, body: &Value) -> Result<ChatRequest, ModelError> {
        read::request(body)
    }

    fn decoder(&self, model: &str) -> Box<dyn Decoder> {
        Box::new(decode::GeminiDecoder::new(model))
    }

    fn refusal(&self, status: u16, body: &str) -> ProviderError {
        failure::refusal(status, body)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_paths_that_lead_nowhere_else() {
        let cases = [
            ("gemini-2.5-flash", "/models/gemini-2.5-flash"),
            ("models/gemini-3-pro", "/models/gemini-3-pro"),
            ("tunedModels/mine", "/tunedModels/mine"),
            ("../../secret?x=1#y", "/models/secret%3Fx%3D1%23y"),
        ];
        for (model, expected) in cases {
            let expected = format!("{expected}:streamGenerateContent?alt=sse");
            assert_eq!(Gemini.path(model), expected, "{model}");
        }
    }
}
