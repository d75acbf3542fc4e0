//! Named places of a script.

use quillet_core::Span;

use crate::editor::keys;

/// Most marks of one document that are cached; what comes behind has none.
pub(super) const MOST_MARKS: usize = 20_000;

/// Something with a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::editor) struct NamedSymbol {
    /// Its bytes in the file.
    pub(in crate::editor) span: Span,
    /// What it is.
    pub(in crate::editor) kind: MarkKind,
}

/// What a mark names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::editor) enum MarkKind {
    /// A directive, a function, an imported name; without `$`.
    Call(String),
    /// The name where a function is declared.
    Function(String),
    /// A script's id or file.
    Script(String),
    /// A variable: the first part of its path.
    Variable {
        name: String,
        /// Whether it gets a value here.
        sets: bool,
    },
    /// The role of a message.
    Role(String),
    /// A key of the front matter, with those it is in.
    Key(Vec<String>),
    /// A pattern of `$match`, with its colon.
    Pattern(String),
    /// A regular expression in a hole.
    Regex,
    /// `[[…]]` as a whole: what it does.
    Hole(&'static str),
}

/// The first part of a key path.
pub(in crate::editor) fn root(path: &str) -> &str {
    path.split(['.', '[']).next().unwrap_or(path)
}

/// Returns whether the engine defines a key of the front matter; other keys are variables.
pub(super) fn is_setting(name: &str) -> bool {
    keys::key(&[name]).is_some()
}
