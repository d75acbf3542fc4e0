//! The files of facts: the table that `scripts/models` writes from LiteLLM, what is kept by hand
//! beside it, and a list of a user's own.

use jiff::civil::Date;
use serde::Deserialize;

use super::facts::{ModelFeatures, ModelInfo};
use super::price::{LongContextPrice, Price};
use super::tokenizer::Tokenizer;

/// Facts that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error(
    "invalid model facts: {0}; expected a list of objects such as {{\"id\": \"my-model\", \"context\": 32768, \"output\": 4096}}"
)]
pub struct FactsError(#[from] serde_json::Error);

/// The table that `scripts/models` writes.
#[derive(Deserialize)]
pub(super) struct ModelTable {
    /// The version of LiteLLM that it is from, and the day of that version.
    #[serde(rename = "litellm")]
    pub(super) version: String,
    pub(super) day: Date,
    pub(super) models: Vec<ModelEntry>,
}

/// One model.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ModelEntry {
    pub(super) id: String,
    context: u64,
    output: u64,
    /// Where it is not as the name says.
    #[serde(default)]
    tokenizer: Option<Tokenizer>,
    #[serde(default)]
    supports: Vec<Feature>,
    #[serde(default)]
    price: Option<Price>,
    #[serde(default)]
    above: Option<LongContextPrice>,
    #[serde(default)]
    ends: Option<Date>,
    #[serde(default)]
    successor: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Feature {
    Images,
    Tools,
    Reasoning,
    Schema,
}

/// A list of entries, such as `kept.json` is.
pub(super) fn list(json: &str) -> Result<Vec<ModelEntry>, FactsError> {
    Ok(serde_json::from_str(json)?)
}

/// The table that `scripts/models` writes.
pub(super) fn table(json: &str) -> Result<ModelTable, FactsError> {
    Ok(serde_json::from_str(json)?)
}

impl ModelEntry {
    /// The name in lower case, by which it is found, and the facts.
    pub(super) fn named(self) -> (String, ModelInfo) {
        let key = self.id.to_ascii_lowercase();
        let has = |feature| self.supports.contains(&feature);
        let facts = ModelInfo {
            known: !super::name::is_family(&key),
            context_window: self.context,
            max_output: self.output,
            tokenizer: self.tokenizer.unwrap_or_else(|| Tokenizer::of(&key)),
            supports: ModelFeatures {
                images: has(Feature::Images),
                tools: has(Feature::Tools),
                reasoning: has(Feature::Reasoning),
                schema: has(Feature::Schema),
            },
            id: self.id.into(),
            price: self.price,
            above: self.above,
            ends: self.ends,
            successor: self.successor.map(Into::into),
        };
        (key, facts)
    }
}
