//! Token usage of an answer.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

/// Token usage of one answer or of a run. The counts have the same meaning for all providers:
/// totals include their parts, so `input_tokens + output_tokens` is the sum of all tokens.
///
/// # Examples
///
/// ```
/// use quillet_core::chat::Usage;
///
/// let turn = Usage { input_tokens: 100, output_tokens: 20, ..Usage::default() };
/// let mut run = turn;
/// run += turn;
/// assert_eq!(run.total_tokens(), 240);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens of the request, including cache reads and writes.
    pub input_tokens: u64,
    /// Generated tokens, including reasoning.
    pub output_tokens: u64,
    /// Reasoning tokens, included in the output.
    #[serde(default)]
    pub reasoning_tokens: u64,
    /// Tokens read from the provider's prompt cache, included in the input.
    #[serde(default)]
    pub cache_read_tokens: u64,
    /// Tokens written to the provider's prompt cache, included in the input.
    #[serde(default)]
    pub cache_write_tokens: u64,
}

impl Usage {
    /// Sum of input and output tokens.
    #[must_use]
    pub fn total_tokens(&self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }
}

/// Adds the usage of another answer.
impl AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        let add = |mine: &mut u64, theirs: u64| *mine = mine.saturating_add(theirs);
        add(&mut self.input_tokens, other.input_tokens);
        add(&mut self.output_tokens, other.output_tokens);
        add(&mut self.reasoning_tokens, other.reasoning_tokens);
        add(&mut self.cache_read_tokens, other.cache_read_tokens);
        add(&mut self.cache_write_tokens, other.cache_write_tokens);
    }
}
