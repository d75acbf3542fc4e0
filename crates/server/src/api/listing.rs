//! Query parameters of lists of definitions.

use serde::Deserialize;
use utoipa::IntoParams;

/// Query parameters of a list.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct Listing {
    /// `true` lists objects with status and diagnostics instead of ids.
    #[serde(default)]
    detail: Option<String>,
    /// Search words: items contain each of them in the id or the text, case-insensitively. Shared
    /// variables are searched by id only.
    #[serde(default)]
    q: Option<String>,
}

impl Listing {
    pub(super) fn is_detailed(&self) -> bool {
        matches!(self.detail.as_deref(), Some("" | "1" | "true" | "yes"))
    }

    /// Returns the search words in lower case.
    pub(super) fn words(&self) -> Vec<String> {
        let all = self.q.as_deref().unwrap_or_default();
        all.split_whitespace().map(str::to_lowercase).collect()
    }
}

/// Returns whether the id or the text contains all words, ignoring case.
pub(super) fn has_all(words: &[String], id: &str, text: &str) -> bool {
    if words.is_empty() {
        return true;
    }
    // The words are in lower case already.
    let (id, text) = (id.to_lowercase(), text.to_lowercase());
    words.iter().all(|word| {
        // Quotes and backslashes are escaped in the stored JSON text.
        let written = word.replace('\\', "\\\\").replace('"', "\\\"");
        id.contains(word) || text.contains(&written)
    })
}
