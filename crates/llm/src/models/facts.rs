//! What is known of models, from one data file that settings can add to.
//!
//! A name is looked up exactly, then by the longest entry that it begins with. An entry ends at a
//! boundary of the name: `gpt-4` is the beginning of `gpt-4-0613`, but not of `gpt-4.1` or
//! `gpt-4o`. (A plain comparison of beginnings would give both the 8,192 tokens of `gpt-4`.) An
//! entry that ends in `-` is a family (`claude-`): what its next model will have at least, and no
//! more than a guess. A price only holds for the entry's own name and its dated versions, since the
//! next model of a family costs something else.

use std::collections::HashMap;
use std::sync::LazyLock;

use quillet_core::chat::Usage;
use serde::Deserialize;

use super::price::{Above, Price};

/// Tokens that fit into a model of which nothing is known.
const UNKNOWN_CONTEXT: u64 = 128_000;
/// Tokens of an answer of a model of which nothing is known.
const UNKNOWN_OUTPUT: u64 = 4_096;

/// The known facts of one model: window, output limit, abilities, price.
#[derive(Clone, Debug, PartialEq)]
pub struct Facts {
    /// The entry that these are of; empty where there is none.
    pub id: String,
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
    pub supports: Supports,
    /// What it costs, where that is publicly known.
    pub price: Option<Price>,
    above: Option<Above>,
}

/// The tokenizer of a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tokenizer {
    /// OpenAI's since gpt-4o.
    O200k,
    /// OpenAI's before.
    Cl100k,
    /// Anthropic's, which is not public: an estimate.
    Claude,
    /// Google's, which is not public: an estimate.
    Gemini,
    /// The mock's: words.
    Words,
    /// Any other: an estimate.
    #[default]
    Other,
}

/// The abilities of a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Supports {
    /// Images in messages.
    pub images: bool,
    /// Calls of tools.
    pub tools: bool,
    /// An effort or a budget of reasoning.
    pub reasoning: bool,
    /// Answers held to a JSON Schema by the provider.
    pub schema: bool,
}

/// Facts that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error(
    "the facts about models are not what they should be: {0}; they are a list of objects such as {{\"id\": \"my-model\", \"context\": 32768, \"output\": 4096}}"
)]
pub struct FactsError(#[from] serde_json::Error);

/// One line of the data file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    id: String,
    context: u64,
    output: u64,
    #[serde(default)]
    tokenizer: Tokenizer,
    #[serde(default)]
    supports: Vec<Feature>,
    #[serde(default)]
    price: Option<Price>,
    #[serde(default)]
    above: Option<Above>,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Feature {
    Images,
    Tools,
    Reasoning,
    Schema,
}

impl Entry {
    fn into_facts(self) -> Facts {
        let has = |feature| self.supports.contains(&feature);
        Facts {
            known: !self.id.ends_with('-'),
            id: self.id,
            context_window: self.context,
            max_output: self.output,
            tokenizer: self.tokenizer,
            supports: Supports {
                images: has(Feature::Images),
                tools: has(Feature::Tools),
                reasoning: has(Feature::Reasoning),
                schema: has(Feature::Schema),
            },
            price: self.price,
            above: self.above,
        }
    }
}

impl Facts {
    /// Of a model without an entry: images and tools are tried, the rest is not.
    fn unknown() -> Self {
        Facts {
            id: String::new(),
            known: false,
            context_window: UNKNOWN_CONTEXT,
            max_output: UNKNOWN_OUTPUT,
            tokenizer: Tokenizer::Other,
            supports: Supports {
                images: true,
                tools: true,
                ..Supports::default()
            },
            price: None,
            above: None,
        }
    }

    /// What an answer cost in US dollars, where the price is known.
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
        let may_differ = |above: &Above| calls > 1 && usage.input_tokens > above.input_tokens;
        if self.above.as_ref().is_some_and(may_differ) {
            None
        } else {
            self.cost(usage)
        }
    }
}

/// The table of known models.
#[derive(Clone, Debug)]
pub struct ModelFacts {
    entries: HashMap<String, Facts>,
}

static BUILT_IN: LazyLock<ModelFacts> = LazyLock::new(|| {
    let text = include_str!("models.json");
    // A test reads the file; without it every model would be unknown, and nothing worse.
    ModelFacts::read(text).unwrap_or(ModelFacts {
        entries: HashMap::new(),
    })
});

impl ModelFacts {
    /// What this program knows.
    #[must_use]
    pub fn built_in() -> &'static Self {
        &BUILT_IN
    }

    /// These facts, and those of a JSON text of the same form as the crate's
    /// `models.json`; an entry of the same `id` takes the place of the old one.
    ///
    /// # Errors
    /// The text is not such a list; says where.
    pub fn with(&self, json: &str) -> Result<Self, FactsError> {
        let mut all = self.clone();
        all.entries.extend(ModelFacts::read(json)?.entries);
        Ok(all)
    }

    fn read(json: &str) -> Result<Self, FactsError> {
        let entries: Vec<Entry> = serde_json::from_str(json)?;
        let entries = entries
            .into_iter()
            .map(|entry| (entry.id.to_lowercase(), entry.into_facts()));
        Ok(ModelFacts {
            entries: entries.collect(),
        })
    }

    /// What is known of a model. Upper case, a provider before a slash
    /// (`anthropic/claude-…`, `models/gemini-…`), `ft:` and the prefixes of clouds
    /// before `claude-` do not matter.
    #[must_use]
    pub fn find(&self, model: &str) -> Facts {
        let model = model.to_lowercase();
        let bare = bare(&model);
        self.exact_or_prefix(&model)
            .or_else(|| self.exact_or_prefix(bare))
            .unwrap_or_else(Facts::unknown)
    }

    /// Names of all entries, sorted.
    #[must_use]
    pub fn ids(&self) -> Vec<&str> {
        let mut ids: Vec<&str> = self
            .entries
            .values()
            .map(|facts| facts.id.as_str())
            .collect();
        ids.sort_unstable();
        ids
    }

    /// The known id that is most like a name: a few letters apart, or the last of those that begin
    /// with it, as `claude-…` does with `claude`.
    #[must_use]
    pub fn nearest(&self, model: &str) -> Option<&str> {
        let mut ids = self.ids();
        // `claude-` is what is known of all whose names begin so.
        ids.retain(|id| !id.ends_with('-'));
        let near = quillet_core::nearest(model, ids.iter().copied());
        near.or_else(|| {
            let begins = |id: &&&str| {
                let rest = id.strip_prefix(model);
                rest.is_some_and(|rest| rest.starts_with('-'))
            };
            ids.iter().rev().find(begins).copied()
        })
    }

    fn exact_or_prefix(&self, model: &str) -> Option<Facts> {
        if let Some(facts) = self.entries.get(model) {
            return Some(facts.clone());
        }
        let begins = |id: &&String| {
            model
                .strip_prefix(id.as_str())
                .is_some_and(|rest| ends(id, rest))
        };
        let longest = self
            .entries
            .keys()
            .filter(begins)
            .max_by_key(|id| id.len())?;
        let mut facts = self.entries.get(longest)?.clone();
        if !is_version(&model[longest.len()..]) {
            (facts.price, facts.above) = (None, None);
        }
        Some(facts)
    }
}

/// A model's name without what stands before it.
fn bare(model: &str) -> &str {
    if let Some(at) = model.find("claude-") {
        return &model[at..];
    }
    let name = model.rsplit('/').next().unwrap_or(model);
    name.strip_prefix("ft:").unwrap_or(name)
}

/// Whether an entry may end before the rest of a name.
fn ends(id: &str, rest: &str) -> bool {
    id.ends_with(['-', '.']) || rest.starts_with(['-', '@', ':'])
}

/// Whether the rest of a name only says which version it is: a date, `latest`,
/// `preview`, `001`.
fn is_version(rest: &str) -> bool {
    let is_word = |part: &str| matches!(part, "latest" | "preview" | "exp");
    let is_number = |part: &str, least: usize| {
        part.len() >= least && part.bytes().all(|byte| byte.is_ascii_digit())
    };
    let mut parts = rest.split(['-', '@']).skip(1);
    parts
        .next()
        .is_some_and(|first| is_word(first) || is_number(first, 3))
        && parts.all(|part| is_word(part) || is_number(part, 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(model: &str) -> Facts {
        ModelFacts::built_in().find(model)
    }

    #[test]
    fn the_seeds_tables_hold() {
        for (model, context, output) in [
            ("gpt-4o", 128_000, 16_384),
            ("gpt-4o-mini", 128_000, 16_384),
            ("gpt-4-turbo", 128_000, 4_096),
            ("o1", 200_000, 100_000),
            ("o3", 200_000, 100_000),
            ("claude-3-5-sonnet", 200_000, 8_192),
            ("claude-3-5-haiku", 200_000, 8_192),
            ("claude-sonnet-4", 200_000, 64_000),
            ("claude-opus-4", 200_000, 32_000),
            ("gemini-1.5-pro", 2_097_152, 8_192),
            ("gemini-1.5-flash", 1_048_576, 8_192),
            ("gemini-2.0-flash", 1_048_576, 8_192),
            // Older models, which requests still name.
            ("claude-3-opus", 200_000, 4_096),
            ("gpt-4", 8_192, 4_096),
            ("gpt-3.5-turbo", 16_385, 4_096),
            ("o1-mini", 128_000, 65_536),
            ("o1-preview", 128_000, 32_768),
            ("o3-mini", 200_000, 100_000),
        ] {
            let facts = find(model);
            assert!(facts.known, "{model}");
            assert_eq!(
                (facts.context_window, facts.max_output),
                (context, output),
                "{model}"
            );
        }
    }

    #[test]
    fn the_longest_entry_counts_and_ends_at_a_boundary() {
        for (model, id) in [
            // What a plain comparison of beginnings takes for gpt-4o and gpt-4.
            ("gpt-4o-mini", "gpt-4o-mini"),
            ("gpt-4o-mini-2024-07-18", "gpt-4o-mini"),
            ("gpt-4.1", "gpt-4.1"),
            ("gpt-4.1-mini-2025-04-14", "gpt-4.1-mini"),
            ("gpt-4.7", "gpt-"),
            ("claude-opus-9", "claude-"),
            ("gpt-4-0613", "gpt-4"),
            ("gpt-5.9-codex", "gpt-5."),
            ("claude-sonnet-4-20250514", "claude-sonnet-4"),
            ("claude-sonnet-4-5-20250929", "claude-sonnet-4-5"),
            ("anthropic/claude-opus-4-1", "claude-opus-4-1"),
            (
                "us.anthropic.claude-haiku-4-5-20251001-v1:0",
                "claude-haiku-4-5",
            ),
            ("models/gemini-2.5-flash", "gemini-2.5-flash"),
            ("gemini-2.5-flash-lite", "gemini-2.5-flash-lite"),
            ("ft:gpt-4o-mini-2024-07-18:me::x", "gpt-4o-mini"),
            ("GPT-4O", "gpt-4o"),
            ("qwen3:8b", "qwen3"),
            ("mock-slow", "mock"),
            ("o1x", ""),
            ("my-own", ""),
            ("", ""),
        ] {
            assert_eq!(find(model).id, id, "{model}");
        }
        let family = find("claude-opus-9");
        assert_eq!((family.known, family.context_window), (false, 200_000));
        let unknown = find("my-own");
        assert_eq!(
            (unknown.context_window, unknown.max_output, unknown.known),
            (128_000, 4_096, false)
        );
    }

    #[test]
    fn prices_hold_for_a_model_and_its_versions_only() {
        for (model, priced) in [
            ("gpt-4o", true),
            ("gpt-4o-2024-08-06", true),
            ("gpt-4o-realtime", false),
            ("gpt-5-chat-latest", true),
            ("gpt-5.9", false),
            ("claude-opus-4-20250514", true),
            ("claude-opus-4@20250514", true),
            ("claude-opus-4-9", false),
            ("gemini-3-pro-preview", true),
            ("gemini-2.5-flash-preview-05-20", true),
            ("gemini-2.5-flash-image", false),
        ] {
            assert_eq!(find(model).price.is_some(), priced, "{model}");
        }
    }

    #[test]
    fn parts_of_the_usage_have_prices_of_their_own() {
        let usage = Usage {
            input_tokens: 1_000_000,
            output_tokens: 100_000,
            reasoning_tokens: 50_000,
            cache_read_tokens: 400_000,
            cache_write_tokens: 100_000,
        };
        let cost = find("claude-sonnet-4-5").cost(&usage).unwrap();
        let expected = 0.5 * 3.0 + 0.4 * 0.3 + 0.1 * 3.75 + 0.1 * 15.0;
        assert!((cost - expected).abs() < 1e-9, "{cost}");
        let long = find("gemini-2.5-pro").cost(&usage).unwrap();
        let expected = 0.6 * 2.5 + 0.4 * 0.25 + 0.1 * 15.0;
        assert!((long - expected).abs() < 1e-9, "{long}");
        assert_eq!(find("my-own").cost(&usage), None);
        let odd = Usage {
            cache_read_tokens: u64::MAX,
            cache_write_tokens: u64::MAX,
            ..usage
        };
        assert!(find("gpt-4o").cost(&odd).unwrap() > 0.0);
    }

    #[test]
    fn own_facts_add_and_replace() {
        let own = r#"[
            {"id": "gpt-4o", "context": 1000, "output": 10},
            {"id": "house", "context": 32768, "output": 2048, "supports": ["tools"],
             "price": {"input": 1, "output": 2}}
        ]"#;
        let facts = ModelFacts::built_in().with(own).unwrap();
        assert_eq!(facts.find("gpt-4o").context_window, 1000);
        assert_eq!(facts.find("gpt-4o-mini").context_window, 128_000);
        assert_eq!(facts.find("house-latest").price.unwrap().output, 2.0);
        for (bad, cause) in [
            ("[", "EOF"),
            (r#"[{"id": "x", "context": -1, "output": 2}]"#, "line 1"),
            (
                r#"[{"id": "x", "context": 1, "output": 2, "prise": 1}]"#,
                "prise",
            ),
        ] {
            let error = ModelFacts::built_in().with(bad).unwrap_err().to_string();
            assert!(error.contains(cause), "{error}");
        }
    }

    #[test]
    fn every_line_of_the_file_makes_sense() {
        let facts = ModelFacts::built_in();
        assert!(facts.ids().len() >= 70);
        for id in facts.ids() {
            let facts = facts.find(id);
            assert!(facts.max_output <= facts.context_window, "{id}");
            let price = facts.price.map(|price| (price.input, price.output));
            assert!(
                price.is_none_or(|(input, output)| input > 0.0 && output > input),
                "{id}"
            );
        }
    }
}
