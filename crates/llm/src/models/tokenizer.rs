//! Tokenizers by the prefix of the model name; LiteLLM does not contain this information.

use serde::Deserialize;

/// The tokenizer of a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tokenizer {
    /// OpenAI's tokenizer since gpt-4o.
    O200k,
    /// OpenAI's tokenizer before gpt-4o.
    Cl100k,
    /// Anthropic's tokenizer, which is not public; an estimate.
    Claude,
    /// Google's tokenizer, which is not public; an estimate.
    Gemini,
    /// Words, for the mock.
    Words,
    /// Any other tokenizer; an estimate.
    #[default]
    Other,
}

/// Prefixes of names; of two overlapping prefixes the longer one comes first.
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
    /// Returns the tokenizer for a lowercase model id. The id may equal the prefix: `gpt-4`, `o1`.
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
