//! A message of a request that is being encoded.

use serde_json::{Value, json};

/// Consecutive content of one role.
#[derive(Debug)]
pub(super) struct AnthropicMessage {
    pub(super) role: &'static str,
    /// Tool results, which the API requires before all other blocks.
    pub(super) results: Vec<Value>,
    pub(super) blocks: Vec<Value>,
}

impl AnthropicMessage {
    pub(super) fn into_value(mut self) -> Value {
        self.results.append(&mut self.blocks);
        json!({"role": self.role, "content": self.results})
    }
}
