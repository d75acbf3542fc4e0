//! Texts of a file with the locations of their parts.

use quillet_core::Span;
use quillet_yaml::Node;

use crate::syntax::ScriptText;

/// The text of a scalar. If YAML changed it (escapes, folding), all its parts have the span of the
/// whole.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LocatedScalar<'a> {
    /// The text.
    pub(crate) text: &'a str,
    /// Its whole span in the file.
    pub(crate) whole: Span,
    /// Whether offsets in the text equal offsets in the file.
    exact: bool,
}

impl<'a> LocatedScalar<'a> {
    /// Creates it from a part of the file.
    pub(crate) fn raw(file: &'a str, whole: Span) -> Self {
        LocatedScalar {
            text: file.get(whole.start..whole.end).unwrap_or_default(),
            whole,
            exact: true,
        }
    }

    /// Creates it from the text of a scalar node.
    pub(crate) fn of(node: &Node, text: &'a str, file: &str) -> Self {
        let span = node.span;
        let written = file.get(span.start..span.end).unwrap_or_default();
        let inner = Span {
            start: span.start + 1,
            end: span.end.saturating_sub(1),
        };
        if written == text {
            return LocatedScalar {
                text,
                whole: span,
                exact: true,
            };
        }
        if file.get(inner.start..inner.end) == Some(text) {
            return LocatedScalar {
                text,
                whole: inner,
                exact: true,
            };
        }
        LocatedScalar {
            text,
            whole: span,
            exact: false,
        }
    }

    /// Returns a part by byte offsets in the text, without surrounding white space.
    pub(crate) fn cut(self, start: usize, end: usize) -> Self {
        let text = self.text.get(start..end).unwrap_or_default();
        let start = start + text.len() - text.trim_start().len();
        let text = text.trim();
        let whole = if self.exact {
            Span {
                start: self.whole.start + start,
                end: self.whole.start + start + text.len(),
            }
        } else {
            self.whole
        };
        LocatedScalar {
            text,
            whole,
            exact: self.exact,
        }
    }

    /// Returns it without surrounding white space.
    pub(crate) fn trim(self) -> Self {
        self.cut(0, self.text.len())
    }

    /// Converts it to a node of the syntax tree.
    pub(crate) fn to_text(self) -> ScriptText {
        ScriptText {
            span: self.whole,
            value: self.text.into(),
        }
    }
}
