//! Prices of answers.

use quillet_core::chat::Usage;
use serde::Deserialize;

/// US dollars per million tokens.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// Input tokens.
    pub input: f64,
    /// Input tokens read from the provider's cache; the price of `input` if unknown.
    #[serde(default)]
    pub cache_read: Option<f64>,
    /// Input tokens written to the provider's cache; the price of `input` if unknown.
    #[serde(default)]
    pub cache_write: Option<f64>,
    /// Output tokens, including reasoning.
    pub output: f64,
}

/// Price of requests whose input exceeds a threshold.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub(super) struct LongContextPrice {
    pub(super) input_tokens: u64,
    #[serde(flatten)]
    pub(super) price: Price,
}

impl Price {
    /// Returns the price of this usage in US dollars.
    ///
    /// # Examples
    ///
    /// ```
    /// use quillet_core::chat::Usage;
    /// use quillet_llm::models::Price;
    ///
    /// let price = Price { input: 2.0, cache_read: None, cache_write: None, output: 8.0 };
    /// let usage = Usage {
    ///     input_tokens: 1_000_000,
    ///     output_tokens: 500_000,
    ///     ..Usage::default()
    /// };
    /// assert_eq!(price.of(&usage), 6.0);
    /// ```
    #[must_use]
    pub fn of(&self, usage: &Usage) -> f64 {
        let cached = usage.cache_read_tokens.min(usage.input_tokens);
        let written = usage.cache_write_tokens.min(usage.input_tokens - cached);
        let fresh = usage.input_tokens - cached - written;
        let parts = [
            (fresh, self.input),
            (cached, self.cache_read.unwrap_or(self.input)),
            (written, self.cache_write.unwrap_or(self.input)),
            (usage.output_tokens, self.output),
        ];
        let parts = parts.map(|(tokens, price)| tokens as f64 * price);
        parts.iter().sum::<f64>() / 1e6
    }
}
