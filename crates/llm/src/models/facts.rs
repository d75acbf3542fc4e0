//! Model info: limits, capabilities, price and deprecation.

use std::sync::{Arc, LazyLock};

use jiff::civil::Date;
use quillet_core::chat::Usage;

use super::price::{LongContextPrice, Price};
use super::tokenizer::Tokenizer;

/// Context window assumed for unknown models, in tokens.
const UNKNOWN_CONTEXT: u64 = 128_000;
/// Output limit assumed for unknown models, in tokens.
const UNKNOWN_OUTPUT: u64 = 4_096;

/// Known properties of one model: context window, output limit, capabilities, price and shutdown
/// date. A clone shares its strings with the table, so a lookup does not allocate.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelInfo {
    /// Id of the matching entry; empty if there is none.
    pub id: Arc<str>,
    /// Whether an entry for the model itself exists. If only its family is known, or nothing, all
    /// other fields are guesses.
    pub known: bool,
    /// Maximum number of tokens of a request and its answer together.
    pub context_window: u64,
    /// Maximum number of tokens of an answer.
    pub max_output: u64,
    /// The tokenizer of the model.
    pub tokenizer: Tokenizer,
    /// The capabilities of the model.
    pub supports: ModelFeatures,
    /// The price, if it is public.
    pub price: Option<Price>,
    pub(super) above: Option<LongContextPrice>,
    /// The first day on which the provider no longer serves the model, if the provider has
    /// announced it.
    pub ends: Option<Date>,
    /// The recommended replacement for a deprecated model.
    pub successor: Option<Arc<str>>,
}

/// Capabilities of a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ModelFeatures {
    /// Accepts images in messages.
    pub images: bool,
    /// Calls tools.
    pub tools: bool,
    /// Accepts a reasoning effort or budget.
    pub reasoning: bool,
    /// Supports answers that the provider validates against a JSON Schema.
    pub schema: bool,
}

/// Images and tools are assumed to work; other capabilities are not.
static UNKNOWN: LazyLock<ModelInfo> = LazyLock::new(|| ModelInfo {
    id: Arc::from(""),
    known: false,
    context_window: UNKNOWN_CONTEXT,
    max_output: UNKNOWN_OUTPUT,
    tokenizer: Tokenizer::Other,
    supports: ModelFeatures {
        images: true,
        tools: true,
        ..ModelFeatures::default()
    },
    price: None,
    above: None,
    ends: None,
    successor: None,
});

impl ModelInfo {
    /// Returns the defaults for a model without an entry.
    pub(super) fn unknown() -> Self {
        UNKNOWN.clone()
    }

    /// Keeps the properties that probably hold for another model of the family, which excludes the
    /// price and the shutdown date.
    pub(super) fn of_family(self) -> Self {
        ModelInfo {
            price: None,
            above: None,
            ends: None,
            successor: None,
            ..self
        }
    }

    /// Returns the cost of an answer in US dollars, if the price is known.
    ///
    /// # Examples
    ///
    /// ```
    /// use quillet_core::chat::Usage;
    /// use quillet_llm::models::ModelFacts;
    ///
    /// let facts = ModelFacts::default().with(
    ///     r#"[{"id": "house", "context": 32768, "output": 2048,
    ///         "price": {"input": 2, "output": 8}}]"#,
    /// )?;
    /// let usage = Usage { input_tokens: 500_000, ..Usage::default() };
    /// assert_eq!(facts.find("house").cost(&usage), Some(1.0));
    /// assert_eq!(facts.find("my-own").cost(&usage), None);
    /// # Ok::<(), quillet_llm::models::FactsError>(())
    /// ```
    #[must_use]
    pub fn cost(&self, usage: &Usage) -> Option<f64> {
        let above = self
            .above
            .filter(|above| usage.input_tokens > above.input_tokens);
        let price = above.map(|above| above.price).or(self.price)?;
        Some(price.of(usage))
    }

    /// Returns the total cost of several answers. `None` if the price depends on the length of each
    /// request, which the sum does not contain.
    #[must_use]
    pub fn cost_of_calls(&self, usage: &Usage, calls: u32) -> Option<f64> {
        let may_differ =
            |above: &LongContextPrice| calls > 1 && usage.input_tokens > above.input_tokens;
        if self.above.as_ref().is_some_and(may_differ) {
            None
        } else {
            self.cost(usage)
        }
    }
}
