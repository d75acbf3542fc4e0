//! Tag syntax of one format, and the context of the tag that is being written.

use std::sync::Arc;

use crate::convert::shape::TypeScope;
use crate::convert::tree::{LoopPosition, TreeCall, VariablePath};

/// A segment of the output.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum OutputPart {
    /// Text to print unchanged.
    Text(String),
    /// A tag that prints.
    Print(String),
    /// A tag that prints nothing, such as a part of a block or a comment.
    Block(String),
}

/// A condition: a variable and its test.
#[derive(Clone, Copy, Debug)]
pub(super) struct ConditionExpr<'t> {
    pub(super) path: &'t VariablePath,
    /// The text to compare with; `None` for a truth test.
    pub(super) equals: Option<&'t str>,
    pub(super) negated: bool,
}

/// A loop that is being written.
#[derive(Clone, Debug)]
pub(super) struct LoopContext<'t> {
    pub(super) list: &'t VariablePath,
    /// Unique name of the item.
    pub(super) name: Arc<str>,
    /// Unique name of the index, if used.
    pub(super) index: Option<Arc<str>>,
    /// Whether an inner loop uses this loop's item.
    pub(super) used_inside: bool,
}

impl LoopContext<'_> {
    /// Returns all names that the loop defines.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        [&*self.name].into_iter().chain(self.index.as_deref())
    }
}

/// Context of the tag that is being written.
pub(super) struct WriteContext<'t> {
    pub(super) loops: Vec<LoopContext<'t>>,
    pub(super) scope: TypeScope<'t>,
    /// Variables of the open conditions inside the innermost loop.
    pub(super) conditions: Vec<&'t VariablePath>,
}

/// Returns the reason why a loop variable cannot be written.
pub(super) fn unknown_of_loop(language: &str, knows: LoopPosition) -> WriteError {
    match knows {
        LoopPosition::Index => format!("{language} has no index of an item"),
        LoopPosition::Number => format!("{language} counts the items of a loop from 0, not from 1"),
        LoopPosition::First => format!("{language} cannot test here whether an item is the first"),
        LoopPosition::Last => format!("{language} cannot test whether an item is the last"),
    }
}

/// Reason why a tag cannot be written.
pub(super) type WriteError = String;

/// Tag syntax of one format.
pub(super) trait Syntax {
    fn print(&self, path: &VariablePath, around: &WriteContext<'_>) -> Result<String, WriteError>;
    fn call(&self, call: &TreeCall, around: &WriteContext<'_>) -> Result<String, WriteError>;
    /// Writes the start of a condition. Formats without conditions, loops or comments use the
    /// default implementations of this and the following methods.
    fn begin_if(&self, _: ConditionExpr<'_>, _: &WriteContext<'_>) -> Result<String, WriteError> {
        Err("the format has no conditions".into())
    }
    /// Writes the condition in an else branch, or returns `None` if it needs a separate block.
    fn else_if(
        &self,
        _: ConditionExpr<'_>,
        _: &WriteContext<'_>,
    ) -> Option<Result<String, WriteError>> {
        None
    }
    /// Writes the separator between the branches of a condition, or of a loop over the given path.
    fn otherwise(&self, _: ConditionExpr<'_>, _: &WriteContext<'_>) -> Result<String, WriteError> {
        Ok(String::new())
    }
    fn end_if(&self, _: ConditionExpr<'_>, _: &WriteContext<'_>) -> Result<String, WriteError> {
        Ok(String::new())
    }
    /// Writes the start of the innermost loop.
    fn begin_for(&self, _: &WriteContext<'_>) -> Result<String, WriteError> {
        Err("the format has no loops".into())
    }
    fn end_for(&self, _: ConditionExpr<'_>, _: &WriteContext<'_>) -> Result<String, WriteError> {
        Ok(String::new())
    }
    /// Writes a comment. Returns `None` if the text cannot be a comment or the format has no
    /// comments.
    fn comment(&self, _: &str) -> Option<String> {
        None
    }
    fn role(&self, role: &str) -> Result<String, WriteError>;
    /// Returns a warning for a path that is exact for some values only.
    fn caution(
        &self,
        _path: &VariablePath,
        _around: &WriteContext<'_>,
        _condition: bool,
    ) -> Option<String> {
        None
    }
    /// Joins the segments and escapes the texts.
    fn join(&self, pieces: &[OutputPart]) -> Result<String, WriteError>;
}

/// Returns the segments before and after a segment.
pub(super) fn beside(
    pieces: &[OutputPart],
    at: usize,
) -> (Option<&OutputPart>, Option<&OutputPart>) {
    let before = at.checked_sub(1).and_then(|before| pieces.get(before));
    (before, pieces.get(at + 1))
}
