//! A simple reading of recorded answers that does not use the crate. The decoders are compared with
//! it.

mod anthropic;
mod chat;
mod gemini;
mod responses;

use quillet_core::chat::FinishReason;
use serde_json::Value;

/// Content of a body.
#[derive(Debug, Default)]
pub struct Plain {
    /// Text of the first choice.
    pub text: String,
    /// Reasoning of the first choice.
    pub reasoning: String,
    /// Refusal of the first choice.
    pub refusal: String,
    /// Calls of the first choice: id if present, name, and text of the arguments.
    pub calls: Vec<(Option<String>, String, String)>,
    /// Finish reason.
    pub stop: Option<FinishReason>,
    /// Tokens: input, output, reasoning, cache reads and cache writes.
    pub usage: Option<[u64; 5]>,
    /// Data that must be sent back to the provider unchanged.
    pub kept: Vec<Value>,
    /// A part of the error message, if the body contains an error.
    pub error: Option<String>,
}

/// Reads a body of this provider API.
pub fn read(wire: &str, body: &str) -> Plain {
    match wire {
        "anthropic" => anthropic::read(&pieces(body)),
        "gemini" => gemini::read(&pieces(body)),
        "openai-chat" => chat::read(&pieces(body)),
        "openai-responses" => responses::read(&pieces(body)),
        _ => Plain::default(),
    }
}

/// Returns the whole object, or the events of a stream. Each event must have exactly one `data`
/// line.
pub fn pieces(body: &str) -> Vec<Value> {
    if let Ok(whole) = serde_json::from_str::<Value>(body) {
        return vec![whole];
    }
    let data = body.lines().filter_map(|line| line.strip_prefix("data:"));
    data.filter_map(|data| serde_json::from_str(data.trim()).ok())
        .collect()
}

/// Returns the first of these members that is a number above 0.
pub fn count(usage: &Value, pointers: &[&str]) -> u64 {
    let number = |pointer: &&str| usage.pointer(pointer)?.as_u64().filter(|count| *count > 0);
    pointers.iter().find_map(number).unwrap_or(0)
}

/// Returns the string of a member; empty if the member is missing.
pub fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
