//! How lists of definitions are wanted: ids or details, and what is searched for.

use serde::Deserialize;
use utoipa::IntoParams;

/// How a list is wanted.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct Listing {
    /// `true` lists objects with status and findings instead of ids.
    #[serde(default)]
    detail: Option<String>,
    /// Words: what is listed has each of them in its id or its text, in any case of letters. Of
    /// shared variables the ids are searched.
    #[serde(default)]
    q: Option<String>,
}

impl Listing {
    pub(super) fn is_detailed(&self) -> bool {
        matches!(self.detail.as_deref(), Some("" | "1" | "true" | "yes"))
    }

    /// What is searched for.
    pub(super) fn words(&self) -> Vec<String> {
        let all = self.q.as_deref().unwrap_or_default();
        all.split_whitespace().map(str::to_lowercase).collect()
    }
}

/// Whether all words are in the id or in the text, which are searched in small letters.
pub(super) fn has_all(words: &[String], id: &str, text: &str) -> bool {
    if words.is_empty() {
        return true;
    }
    let (id, text) = (id.to_lowercase(), text.to_lowercase());
    words.iter().all(|word| {
        // In the text a quote or a backslash stands as JSON writes it.
        let written = word.replace('\\', "\\\\").replace('"', "\\\"");
        id.contains(word) || text.contains(&written)
    })
}
