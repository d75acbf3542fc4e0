//! What a store holds: texts under typed keys.

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
    /// An agent: a model, instructions, tools and skills under a name.
    Agent,
    /// A connection to a database that is asked questions.
    Database,
    /// The labels of a definition of another kind; see [`crate::history`].
    Label,
}

impl EntryKind {
    /// All of them.
    pub const ALL: [EntryKind; 7] = [
        EntryKind::Extension,
        EntryKind::Prompt,
        EntryKind::Environ,
        EntryKind::Tool,
        EntryKind::Agent,
        EntryKind::Database,
        EntryKind::Label,
    ];

    /// What people call an entry of it.
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

    /// The word for it in keys, addresses and logs.
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

    /// Whether its entries are definitions, whose versions are kept.
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

/// The part of a key after its kind: segments joined by `:`, for example
/// `codebase:lookup_ref`.
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
    /// A key of these characters.
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        EntryKey(text.into())
    }

    /// The key as it is stored.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The segments between the colons.
    pub fn segments(&self) -> impl Iterator<Item = &str> {
        self.0.split(':')
    }

    /// The id that people and routes use: `:` becomes `.`.
    #[must_use]
    pub fn id(&self) -> String {
        self.0.replace(':', ".")
    }

    /// The name that templates call: `:` becomes `_`.
    /// Other characters that cannot stand in a name become `_` too.
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
    /// The stored text: JSON, or a prompt file as the ending of its file's name says.
    pub text: Arc<str>,
    /// Name and text of a second file that belongs to it (the `config.json`
    /// beside a `skprompt.txt`).
    pub companion: Option<(Arc<str>, Arc<str>)>,
    /// The folder on disk that a prompt file is in, whose other files it may refer to. `None` for
    /// everything stored elsewhere: whatever its origin looks like, it reaches no file.
    pub folder: Option<Arc<Path>>,
    /// Where it is stored, for messages: a file name, a key with its prefix.
    pub origin: Arc<str>,
    /// Why the store could not hand out the text as JSON: a file that is broken
    /// YAML, a key that holds a list, a value over the size limit. The entry is
    /// still listed, so that nobody has to guess where it went.
    pub problem: Option<Diagnostic>,
}

impl StoreEntry {
    /// An entry whose text is as it should be.
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

    /// An entry that is there and cannot be used; `text` is what could be read of it.
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
