//! What collections and documents give, wherever they are.

use serde_json::Value as Json;

use super::budget::KnowledgeLimits;

/// How large collections are, and how often they may be searched.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Sizes {
    /// Tokens of all documents, about.
    pub(super) tokens: u64,
    pub(super) calls: KnowledgeLimits,
    /// The collections that can be searched, each with its name.
    pub(super) searchable: Vec<String>,
}

/// A passage that was found.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct SearchHit {
    pub(super) collection: String,
    pub(super) document: Option<i64>,
    pub(super) title: String,
    pub(super) url: Option<String>,
    pub(super) content: String,
    /// 0 to 1; `None` where the other side does not say.
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

/// Tokens of a text, about: four letters each, and one for each character of scripts that have no
/// such letters: four characters to a token would count Chinese as a quarter of what it is.
pub(super) fn tokens(text: &str) -> u64 {
    let plain = text.bytes().filter(u8::is_ascii).count();
    let others = text.chars().count() - plain;
    (plain / 4 + others) as u64
}
