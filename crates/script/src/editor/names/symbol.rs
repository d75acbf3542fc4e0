//! Named symbols of a script.

use quillet_core::Span;

use crate::editor::keys;

/// Maximum number of marks in a document. Any symbols after that have none.
pub(super) const MOST_MARKS: usize = 20_000;

/// A named symbol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::editor) struct NamedSymbol {
    /// Its span in the file.
    pub(in crate::editor) span: Span,
    /// Its kind.
    pub(in crate::editor) kind: MarkKind,
}

/// The kind of a symbol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::editor) enum MarkKind {
    /// A directive, a function, or an imported name, without `$`.
    Call(String),
    /// The name in a function declaration.
    Function(String),
    /// A script's id or file.
    Script(String),
    /// A variable, by the first part of its path.
    Variable {
        name: String,
        /// Whether it is assigned here.
        sets: bool,
    },
    /// The role of a message.
    Role(String),
    /// A key of the front matter with its enclosing keys.
    Key(Vec<String>),
    /// A pattern of `$match`, with its colon.
    Pattern(String),
    /// A regular expression in a hole.
    Regex,
    /// A whole hole `[[…]]`, with its description.
    Hole(&'static str),
}

/// Returns the first part of a key path.
pub(in crate::editor) fn root(path: &str) -> &str {
    path.split(['.', '[']).next().unwrap_or(path)
}

/// Returns whether the engine defines a key of the front matter; other keys are variables.
pub(super) fn is_setting(name: &str) -> bool {
    keys::key(&[name]).is_some()
}
