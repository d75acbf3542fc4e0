//! Gemini's wire: `models/…:generateContent` and `…:streamGenerateContent`.
//!
//! What models of which generation take stands here; nothing else in this folder
//! knows names of models.

mod decode;
mod failure;
mod partial;
mod parts;
mod read;
mod write;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use quillet_core::chat::{ChatRequest, ModelError};
use serde_json::{Value, json};

use super::{Decoder, Protocol, ProviderError};

/// The wire's name, also in [`quillet_core::NativeTurn::wire`].
const WIRE: &str = "gemini";

/// What a name may have in a path as it is.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'@');

/// Gemini's wire, in the version that the base URL names (`/v1beta`).
///
/// Members of [`quillet_core::chat::ChatOptions::extra`] that belong into
/// `generationConfig` (`topK`, `seed`, `thinkingConfig` …) are put there, all others
/// (`safetySettings`, `cachedContent`, `labels` …) at the top of the body.
#[derive(Clone, Copy, Debug, Default)]
pub struct Gemini;

impl Protocol for Gemini {
    fn name(&self) -> &'static str {
        WIRE
    }

    /// A name may be a resource of its own kind: `tunedModels/…`.
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

/// The generation in a name: `gemini-2.5-pro` is (2, 5); what is called `latest` is
/// taken for the first that is checked strictly. `None` for models of others.
fn generation(model: &str) -> Option<(u32, u32)> {
    let (_, name) = model.rsplit_once("gemini-")?;
    let mut numbers = name.split(['-', '.']).map_while(|word| word.parse().ok());
    match numbers.next() {
        Some(major) => Some((major, numbers.next().unwrap_or(0))),
        None => name.contains("latest").then_some((3, 0)),
    }
}

/// Since generation 3 a call without its thought's signature is refused, and results
/// of calls may hold media.
fn is_strict(model: &str) -> bool {
    generation(model).is_some_and(|generation| generation >= (3, 0))
}

/// How long to think. Generation 3 has levels, 2.5 a budget (the numbers that Google documents for
/// its OpenAI-compatible endpoint), and what came before does not think.
fn thinking(model: &str, effort: &str) -> Option<Value> {
    let generation = generation(model)?;
    let is_pro = model.contains("pro");
    if generation >= (3, 0) {
        let level = match effort {
            // Thinking cannot be switched off for these models; the larger ones cannot even be
            // asked to think next to nothing.
            "none" | "minimal" if is_pro => "low",
            "none" => "minimal",
            "xhigh" | "max" => "high",
            level => level,
        };
        return Some(json!({"thinkingLevel": level, "includeThoughts": effort != "none"}));
    }
    let budget = match effort {
        "none" if is_pro => 128,
        "none" => 0,
        "minimal" | "low" => 1024,
        "medium" => 8192,
        _ => 24_576,
    };
    (generation >= (2, 5))
        .then(|| json!({"thinkingBudget": budget, "includeThoughts": effort != "none"}))
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

    #[test]
    fn every_generation_is_told_in_its_own_words() {
        let budget = |budget: u64, shown: bool| {
            Some(json!({"thinkingBudget": budget, "includeThoughts": shown}))
        };
        let level = |level: &str, shown: bool| {
            Some(json!({"thinkingLevel": level, "includeThoughts": shown}))
        };
        let cases = [
            ("gemini-2.0-flash", "high", None),
            ("gemini-2.5-flash", "none", budget(0, false)),
            ("gemini-2.5-pro", "none", budget(128, false)),
            ("gemini-2.5-flash", "medium", budget(8192, true)),
            ("gemini-2.5-flash", "xhigh", budget(24_576, true)),
            ("gemini-3-pro-preview", "minimal", level("low", true)),
            (
                "models/gemini-3.1-flash-lite",
                "minimal",
                level("minimal", true),
            ),
            ("gemini-flash-latest", "none", level("minimal", false)),
            ("gemma-3-27b", "high", None),
        ];
        for (model, effort, expected) in cases {
            assert_eq!(thinking(model, effort), expected, "{model} {effort}");
        }
    }
}
