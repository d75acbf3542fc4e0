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

/// Passage found by a search.
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

/// Id of a collection in results. Numeric ids, such as Chat Shell's, become numbers.
pub(super) fn id(collection: &str) -> Json {
    match collection.parse::<i64>() {
        Ok(number) => number.into(),
        Err(_) => collection.into(),
    }
}

/// Approximate number of tokens in a text: one per four letters, but one per character in scripts
/// such as Chinese.
pub(super) fn tokens(text: &str) -> u64 {
    let plain = text.bytes().filter(u8::is_ascii).count();
    let others = text.chars().count() - plain;
    (plain / 4 + others) as u64
}
