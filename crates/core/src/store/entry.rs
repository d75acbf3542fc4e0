//! Entries of a store: texts under typed keys.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use serde::Serialize;

use crate::Diagnostic;

/// The kind of a stored entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum EntryKind {
    /// A prompt extension, which provides prompts.
    Extension,
    /// A prompt template.
    Prompt,
    /// A shared variable.
    Environ,
    /// A tool definition.
    Tool,
    /// An agent: a named combination of model, instructions, tools and skills.
    Agent,
    /// A connection to a database.
    Database,
    /// The labels of a definition of another kind; see [`crate::history`].
    Label,
}

impl EntryKind {
    /// All kinds.
    pub const ALL: [EntryKind; 7] = [
        EntryKind::Extension,
        EntryKind::Prompt,
        EntryKind::Environ,
        EntryKind::Tool,
        EntryKind::Agent,
        EntryKind::Database,
        EntryKind::Label,
    ];

    /// Display name of an entry of this kind.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            EntryKind::Extension => "extension",
            EntryKind::Prompt => "prompt",
            EntryKind::Environ => "shared variable",
            EntryKind::Tool => "tool",
            EntryKind::Agent => "agent",
            EntryKind::Database => "database",
            EntryKind::Label => "labels",
        }
    }

    /// Name in keys, URLs and logs.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            EntryKind::Extension => "extension",
            EntryKind::Prompt => "prompt",
            EntryKind::Environ => "environ",
            EntryKind::Tool => "tool",
            EntryKind::Agent => "agent",
            EntryKind::Database => "database",
            EntryKind::Label => "label",
        }
    }

    /// Whether its entries are definitions with a version history.
    ///
    /// # Examples
    ///
    /// ```
    /// use quillet_core::store::EntryKind;
    ///
    /// assert!(EntryKind::Prompt.has_versions());
    /// assert!(!EntryKind::Environ.has_versions());
    /// ```
    #[must_use]
    pub fn has_versions(self) -> bool {
        !matches!(self, EntryKind::Environ | EntryKind::Label)
    }
}

/// The part of a key after its kind: segments joined by `:`, such as `codebase:lookup_ref`.
///
/// # Examples
///
/// ```
/// use quillet_core::store::EntryKey;
///
/// let key = EntryKey::new("codebase:lookup_ref");
/// assert_eq!(key.id(), "codebase.lookup_ref");
/// assert_eq!(key.function_name(), "codebase_lookup_ref");
/// assert_eq!(key.segments().collect::<Vec<_>>(), ["codebase", "lookup_ref"]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct EntryKey(Arc<str>);

impl EntryKey {
    /// Creates a key.
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        EntryKey(text.into())
    }

    /// Returns the key as stored.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The segments between the colons.
    pub fn segments(&self) -> impl Iterator<Item = &str> {
        self.0.split(':')
    }

    /// Returns the id for users and routes: `:` becomes `.`.
    #[must_use]
    pub fn id(&self) -> String {
        self.0.replace(':', ".")
    }

    /// Returns the function name in templates: `:` and other characters that are not allowed in
    /// names become `_`.
    #[must_use]
    pub fn function_name(&self) -> String {
        let name = |c: char| if c.is_alphanumeric() { c } else { '_' };
        let mut out: String = self.0.chars().map(name).collect();
        if out.starts_with(|c: char| c.is_numeric()) {
            out.insert(0, '_');
        }
        out
    }
}

impl fmt::Display for EntryKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One stored text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreEntry {
    /// Its key.
    pub key: EntryKey,
    /// The stored text: JSON, or a prompt file whose format depends on its extension.
    pub text: Arc<str>,
    /// Name and text of a second file that belongs to the entry, such as the `config.json` of a
    /// `skprompt.txt`.
    pub companion: Option<(Arc<str>, Arc<str>)>,
    /// Folder of a prompt file. The prompt file may refer to other files in this folder. `None` for
    /// all other entries, which cannot access files regardless of their origin.
    pub folder: Option<Arc<Path>>,
    /// Location for messages: a file name, or a key with its prefix.
    pub origin: Arc<str>,
    /// Problem of an entry whose text is not available as JSON: a file with invalid YAML, a key
    /// that holds a list, or a value above the size limit. Such entries are listed too, so that
    /// they do not seem to be missing.
    pub problem: Option<Diagnostic>,
}

impl StoreEntry {
    /// Creates a valid entry.
    pub fn new(key: EntryKey, text: impl Into<Arc<str>>, origin: impl Into<Arc<str>>) -> Self {
        StoreEntry {
            key,
            text: text.into(),
            companion: None,
            folder: None,
            origin: origin.into(),
            problem: None,
        }
    }

    /// Creates an invalid entry; `text` is its readable part.
    pub fn invalid(key: EntryKey, text: impl Into<Arc<str>>, problem: Diagnostic) -> Self {
        StoreEntry {
            key,
            text: text.into(),
            companion: None,
            folder: None,
            origin: problem.source.as_str().into(),
            problem: Some(problem),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_map_to_ids_and_function_names_as_the_seed_says() {
        let cases = [
            (
                "codebase:lookup_ref",
                "codebase.lookup_ref",
                "codebase_lookup_ref",
            ),
            ("codebase:caller", "codebase.caller", "codebase_caller"),
            ("mcp:chrome:xx", "mcp.chrome.xx", "mcp_chrome_xx"),
            ("my-mod:x.y", "my-mod.x.y", "my_mod_x_y"),
            ("3d:View", "3d.View", "_3d_View"),
        ];
        for (key, id, function) in cases {
            let key = EntryKey::new(key);
            assert_eq!(
                (key.id().as_str(), key.function_name().as_str()),
                (id, function)
            );
        }
    }
}
