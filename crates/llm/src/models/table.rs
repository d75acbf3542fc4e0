//! Table of models: entries from LiteLLM, manual entries, and entries of the user.
//!
//! A lookup tries the exact name, then the newest version of the name if only versions have entries
//! (`gemini-3-flash` finds `gemini-3-flash-preview`), then the longest entry that is a prefix of
//! the name. An entry that ends in `-` or `.` describes a family (`claude-`): its values are a
//! guess at the minimum that a new model will support. Price and shutdown date apply only to the
//! name of the entry and its versions, because the next model of a family costs something else.

use std::sync::LazyLock;

use jiff::civil::Date;

use super::entry::{self, FactsError, ModelEntry};
use super::facts::ModelInfo;
use super::name;

/// The table of known models.
#[derive(Clone, Debug, Default)]
pub struct ModelFacts {
    /// Sorted by the lowercase name before each entry.
    entries: Vec<(String, ModelInfo)>,
    /// Length of the longest name in bytes; longer prefixes are not looked up.
    longest: usize,
    source: Option<TableVersion>,
}

/// Source of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableVersion {
    /// Version of LiteLLM.
    pub version: String,
    /// Release date of that version.
    pub day: Date,
}

/// Parsed on the first lookup.
static BUILT_IN: LazyLock<ModelFacts> = LazyLock::new(|| {
    // A test checks that the files are valid. If the files were invalid, every model would be
    // unknown.
    ModelFacts::embedded().unwrap_or_default()
});

impl ModelFacts {
    /// Returns the built-in table.
    #[must_use]
    pub fn built_in() -> &'static Self {
        &BUILT_IN
    }

    fn embedded() -> Result<Self, FactsError> {
        let table = entry::table(include_str!("litellm.json"))?;
        let kept = entry::list(include_str!("kept.json"))?;
        let source = TableVersion {
            version: table.version,
            day: table.day,
        };
        let facts = ModelFacts {
            source: Some(source),
            ..ModelFacts::default()
        };
        // The generated table is newer, so it replaces manual entries.
        Ok(facts.and(kept).and(table.models))
    }

    /// Returns this table merged with the entries in `json`, which has the format of the crate's
    /// `kept.json`. An entry replaces the existing entry with the same `id`.
    ///
    /// # Errors
    /// The text is not a list in this format; the error contains the position.
    ///
    /// # Examples
    ///
    /// ```
    /// use quillet_llm::models::ModelFacts;
    ///
    /// let facts = ModelFacts::built_in();
    /// let facts = facts.with(r#"[{"id": "house", "context": 32768, "output": 2048}]"#)?;
    /// assert_eq!(facts.find("house").context_window, 32_768);
    /// # Ok::<(), quillet_llm::models::FactsError>(())
    /// ```
    pub fn with(&self, json: &str) -> Result<Self, FactsError> {
        Ok(self.clone().and(entry::list(json)?))
    }

    fn and(mut self, more: Vec<ModelEntry>) -> Self {
        self.entries.extend(more.into_iter().map(ModelEntry::named));
        // The sort is stable, so the last of several equal names is the newest.
        self.entries.sort_by(|(one, _), (other, _)| one.cmp(other));
        self.entries.reverse();
        self.entries.dedup_by(|(one, _), (other, _)| one == other);
        self.entries.reverse();
        self.longest = self
            .entries
            .iter()
            .map(|(key, _)| key.len())
            .max()
            .unwrap_or(0);
        self
    }

    /// Returns the info of a model. The lookup ignores case, a provider before a slash
    /// (`anthropic/claude-…`, `models/gemini-…`), `ft:` and cloud prefixes before `claude-`.
    ///
    /// # Examples
    ///
    /// ```
    /// use quillet_llm::models::ModelFacts;
    ///
    /// let facts = ModelFacts::built_in();
    /// assert_eq!(&*facts.find("anthropic/claude-opus-4-1").id, "claude-opus-4-1");
    /// assert!(!facts.find("my-own").known);
    /// ```
    #[must_use]
    pub fn find(&self, model: &str) -> ModelInfo {
        let bare = name::bare(model);
        let found = self.itself(model);
        let found = found.or_else(|| (bare != model).then(|| self.itself(bare))?);
        if let Some(facts) = found {
            return facts.clone();
        }
        // A prefix before the slash may look like a family: `gemini-gateway/gpt-5.9`.
        let whole = self.longest_beginning(model).filter(|facts| facts.known);
        let found = whole.or_else(|| self.longest_beginning(bare));
        found.unwrap_or_else(ModelInfo::unknown)
    }

    /// Returns the source of the table; entries that a user adds have no source.
    #[must_use]
    pub fn source(&self) -> Option<&TableVersion> {
        self.source.as_ref()
    }

    /// Returns the names of all entries, sorted.
    #[must_use]
    pub fn ids(&self) -> Vec<&str> {
        self.entries.iter().map(|(_, facts)| &*facts.id).collect()
    }

    /// Returns the model names available on a day, sorted, without families and shut-down models.
    #[must_use]
    pub fn names(&self, today: Date) -> Vec<&str> {
        let can_be_asked = |facts: &ModelInfo| {
            facts.known && !name::is_tuned(&facts.id) && facts.ends.is_none_or(|ends| ends > today)
        };
        let known = self.entries.iter().map(|(_, facts)| facts);
        let known = known.filter(|facts| can_be_asked(facts));
        known.map(|facts| &*facts.id).collect()
    }

    /// Returns the known id most similar to a name: an id that differs by a few letters, or the
    /// last id that starts with the name, such as `claude-…` for `claude`.
    ///
    /// # Examples
    ///
    /// ```
    /// use quillet_llm::models::ModelFacts;
    ///
    /// let facts = ModelFacts::default();
    /// let facts = facts.with(r#"[{"id": "house", "context": 32768, "output": 2048}]"#)?;
    /// assert_eq!(facts.nearest("hause"), Some("house"));
    /// # Ok::<(), quillet_llm::models::FactsError>(())
    /// ```
    #[must_use]
    pub fn nearest(&self, model: &str) -> Option<&str> {
        let known = self.entries.iter().map(|(_, facts)| facts);
        let models = known.filter(|facts| facts.known && !name::is_tuned(&facts.id));
        let near = quillet_core::nearest(model, models.clone().map(|facts| &*facts.id));
        near.or_else(|| {
            let begins = |facts: &&ModelInfo| {
                let rest = facts.id.strip_prefix(model);
                rest.is_some_and(|rest| rest.starts_with('-'))
            };
            // A deprecated model is never suggested.
            let mut lasting = models.filter(|facts| facts.ends.is_none());
            lasting.rfind(begins).map(|facts| &*facts.id)
        })
    }

    /// Returns the entry of a name, or the last entry that adds a version to the name.
    fn itself(&self, model: &str) -> Option<&ModelInfo> {
        let mut newest = None;
        for (key, facts) in &self.entries[self.place(model)..] {
            let Some((begin, rest)) = key.split_at_checked(model.len()) else {
                break;
            };
            if !begin.eq_ignore_ascii_case(model) {
                break;
            }
            if rest.is_empty() {
                return Some(facts);
            }
            if name::is_version(rest) {
                newest = Some(facts);
            }
        }
        newest
    }

    fn exact(&self, model: &str) -> Option<&ModelInfo> {
        let (key, facts) = self.entries.get(self.place(model))?;
        key.eq_ignore_ascii_case(model).then_some(facts)
    }

    /// Returns the index of a name, or the index at which it would be inserted.
    fn place(&self, model: &str) -> usize {
        let is_before = |(key, _): &(String, ModelInfo)| name::compare(key, model).is_lt();
        self.entries.partition_point(is_before)
    }

    fn longest_beginning(&self, model: &str) -> Option<ModelInfo> {
        let mut beginnings = name::beginnings(model, self.longest);
        let (length, facts) =
            beginnings.find_map(|begin| Some((begin.len(), self.exact(begin)?.clone())))?;
        let rest = &model[length..];
        // The name of a fine-tuned model is the name of its base model, a colon and a suffix.
        let is_same = name::is_version(rest) || name::is_tuned(&facts.id) && rest.starts_with(':');
        Some(if is_same { facts } else { facts.of_family() })
    }
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;
    use quillet_core::chat::Usage;

    use super::*;

    fn find(model: &str) -> ModelInfo {
        ModelFacts::built_in().find(model)
    }

    #[test]
    fn the_longest_entry_counts_and_ends_at_a_boundary() {
        for (model, id) in [
            // A plain prefix comparison would match gpt-4o or gpt-4.
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
            (
                "ft:gpt-4o-mini-2024-07-18:me::x",
                "ft:gpt-4o-mini-2024-07-18",
            ),
            ("ft:gpt-5.2:me::x", "gpt-5.2"),
            // The table contains these models only under versioned names.
            ("gemini-3-flash", "gemini-3-flash-preview"),
            ("Mistral/Mistral-Large", "mistral-large-latest"),
            ("gpt-4o-audio-preview", "gpt-4o-audio-preview-2025-06-03"),
            ("minimax/minimax-m3", "MiniMax-M3"),
            ("GPT-4O", "gpt-4o"),
            ("qwen3:8b", "qwen3"),
            ("mock-slow", "mock"),
            ("gemini-gateway/gpt-5", "gpt-5"),
            ("gemini-gateway/gpt-5.9", "gpt-5."),
            ("o1x", ""),
            ("my-own", ""),
            ("", ""),
        ] {
            assert_eq!(&*find(model).id, id, "{model}");
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
            ("ft:gpt-4o-mini-2024-07-18:me::x", true),
            ("ft:gpt-5.2:me::x", false),
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
        assert!(facts.ids().len() >= 300 && facts.source().is_some());
        for id in facts.ids() {
            let facts = facts.find(id);
            assert!(facts.max_output <= facts.context_window, "{id}");
            let price = facts.price.map(|price| (price.input, price.output));
            assert!(
                price.is_none_or(|(input, output)| input > 0.0 && output >= input),
                "{id}"
            );
        }
    }

    #[test]
    fn the_table_is_small_and_says_nothing_that_is_kept_by_hand() {
        let text = include_str!("litellm.json");
        assert!(text.len() < 150_000, "{} bytes", text.len());
        let table = entry::table(text).unwrap();
        let kept = entry::list(include_str!("kept.json")).unwrap();
        let kept: Vec<String> = kept.into_iter().map(|entry| entry.named().0).collect();
        for entry in table.models {
            let (id, _) = entry.named();
            assert!(
                !kept.contains(&id),
                "{id} is in both files: take it out of kept.json"
            );
        }
    }

    #[test]
    fn names_are_of_models_that_can_be_asked() {
        let own = r#"[
            {"id": "house-", "context": 1000, "output": 10},
            {"id": "house-1", "context": 1000, "output": 10, "ends": "2026-12-11"},
            {"id": "House-2", "context": 1000, "output": 10},
            {"id": "ft:house-2", "context": 1000, "output": 10}
        ]"#;
        let facts = ModelFacts::default().with(own).unwrap();
        assert_eq!(facts.names(date(2026, 12, 10)), ["house-1", "House-2"]);
        assert_eq!(facts.names(date(2026, 12, 11)), ["House-2"]);
        assert_eq!(facts.ids(), ["ft:house-2", "house-", "house-1", "House-2"]);
    }
}
