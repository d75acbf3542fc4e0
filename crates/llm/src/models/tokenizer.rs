//! How the tokens of a model are counted, by the beginning of its name: the source of the other
//! facts does not say.

use serde::Deserialize;

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

/// Beginnings of names, the longer of two before the shorter.
const FAMILIES: [(&str, Tokenizer); 14] = [
    ("gpt-3.5-", Tokenizer::Cl100k),
    ("gpt-4-", Tokenizer::Cl100k),
    ("gpt-", Tokenizer::O200k),
    ("chatgpt-", Tokenizer::O200k),
    ("chat-", Tokenizer::O200k),
    ("computer-use-", Tokenizer::O200k),
    ("daybreak-", Tokenizer::O200k),
    ("o1-", Tokenizer::O200k),
    ("o3-", Tokenizer::O200k),
    ("o4-", Tokenizer::O200k),
    ("claude-", Tokenizer::Claude),
    ("gemini-", Tokenizer::Gemini),
    ("gemma-", Tokenizer::Gemini),
    ("mock-", Tokenizer::Words),
];

impl Tokenizer {
    /// Of a model's id, in lower case. The id may be the beginning itself: `gpt-4`, `o1`.
    pub(super) fn of(id: &str) -> Self {
        let id = id.strip_prefix("ft:").unwrap_or(id);
        let is_one = |(family, _): &&(&str, Tokenizer)| {
            id.starts_with(family) || family.strip_suffix('-') == Some(id)
        };
        let found = FAMILIES.iter().find(is_one);
        found.map_or(Tokenizer::Other, |(_, tokenizer)| *tokenizer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_how_it_is_counted() {
        use Tokenizer::{Cl100k, Claude, Gemini, O200k, Other, Words};
        for (id, tokenizer) in [
            ("gpt-3.5-turbo", Cl100k),
            ("gpt-4", Cl100k),
            ("gpt-4-turbo", Cl100k),
            ("gpt-4.1", O200k),
            ("gpt-4o", O200k),
            ("gpt-", O200k),
            ("gpt-oss", O200k),
            ("ft:gpt-4-0613", Cl100k),
            ("ft:o4-mini-2025-04-16", O200k),
            ("o1", O200k),
            ("o1x", Other),
            ("claude-opus-5-5", Claude),
            ("gemini-3.8-flash", Gemini),
            ("gemma-4-31b-it", Gemini),
            ("mock", Words),
            ("mockingbird", Other),
            ("qwen3", Other),
        ] {
            assert_eq!(Tokenizer::of(id), tokenizer, "{id}");
        }
    }
}
