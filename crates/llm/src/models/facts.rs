//! What is known of one model.

use std::sync::{Arc, LazyLock};

use jiff::civil::Date;
use quillet_core::chat::Usage;

use super::price::{LongContextPrice, Price};
use super::tokenizer::Tokenizer;

/// Tokens that fit into a model of which nothing is known.
const UNKNOWN_CONTEXT: u64 = 128_000;
/// Tokens of an answer of a model of which nothing is known.
const UNKNOWN_OUTPUT: u64 = 4_096;

/// The known facts of one model: window, output limit, abilities, price, end. A copy shares its
/// texts with the table, so that no look-up allocates.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelInfo {
    /// The entry that these are of; empty where there is none.
    pub id: Arc<str>,
    /// Whether there is an entry for the model, and not only for its family or none.
    /// What follows is a guess then.
    pub known: bool,
    /// Tokens of a request and its answer together.
    pub context_window: u64,
    /// Most tokens of an answer.
    pub max_output: u64,
    /// How its tokens are counted.
    pub tokenizer: Tokenizer,
    /// What it can do.
    pub supports: ModelFeatures,
    /// What it costs, where that is publicly known.
    pub price: Option<Price>,
    pub(super) above: Option<LongContextPrice>,
    /// The first day on which its provider no longer answers for it, where one is announced.
    pub ends: Option<Date>,
    /// A model to take in its place, where it ends.
    pub successor: Option<Arc<str>>,
}

/// The abilities of a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ModelFeatures {
    /// Images in messages.
    pub images: bool,
    /// Calls of tools.
    pub tools: bool,
    /// An effort or a budget of reasoning.
    pub reasoning: bool,
    /// Answers held to a JSON Schema by the provider.
    pub schema: bool,
}

/// Images and tools are tried, the rest is not.
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
    /// Of a model without an entry.
    pub(super) fn unknown() -> Self {
        UNKNOWN.clone()
    }

    /// What of these facts also holds for another model of the family: not what it costs, and not
    /// when it ends.
    pub(super) fn of_family(self) -> Self {
        ModelInfo {
            price: None,
            above: None,
            ends: None,
            successor: None,
            ..self
        }
    }

    /// What an answer cost in US dollars, where the price is known.
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

    /// The price of this many answers together. Where the price depends on how long a request is,
    /// and the sum does not say how long each was, it is not known.
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
