//! Data of collections and documents, independent of their source.

use serde_json::Value as Json;

use super::budget::KnowledgeLimits;

/// Sizes of collections, and limits on searches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Sizes {
    /// Approximate tokens of all documents.
    pub(super) tokens: u64,
    pub(super) calls: KnowledgeLimits,
    /// The collections that can be searched, each with its name.
    pub(super) searchable: Vec<String>,
}

/// Passage that was found.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct SearchHit {
    pub(super) collection: String,
    pub(super) document: Option<i64>,
    pub(super) title: String,
    pub(super) url: Option<String>,
    pub(super) content: String,
    /// Score from 0 to 1; `None` if the source has none.
    pub(super) score: Option<f64>,
}

/// A part of a document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct DocumentExcerpt {
    pub(super) name: String,
    pub(super) collection: Option<String>,
    pub(super) content: String,
    /// Characters of the whole document.
    pub(super) total: u64,
}

/// A collection as results name it: a number where it is one, as Chat Shell's are.
pub(super) fn id(collection: &str) -> Json {
    match collection.parse::<i64>() {
        Ok(number) => number.into(),
        Err(_) => collection.into(),
    }
}

/// Approximate tokens of a text: four letters per token, and one token per character of scripts
/// such as Chinese, which four per token would underestimate to a quarter.
pub(super) fn tokens(text: &str) -> u64 {
    let plain = text.bytes().filter(u8::is_ascii).count();
    let others = text.chars().count() - plain;
    (plain / 4 + others) as u64
}
