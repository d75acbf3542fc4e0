//! A text inside of the file, and where its parts stand.

use quillet_core::Span;
use quillet_yaml::Node;

use crate::syntax::ScriptText;

/// A scalar's text. Where YAML changed it (escapes, folding), its parts have
/// the place of the whole.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LocatedScalar<'a> {
    /// The text.
    pub(crate) text: &'a str,
    /// All of it, in the file.
    pub(crate) whole: Span,
    /// Whether each byte of the text is the byte of the file that stands as far from the start.
    exact: bool,
}

impl<'a> LocatedScalar<'a> {
    /// A part of the file.
    pub(crate) fn raw(file: &'a str, whole: Span) -> Self {
        LocatedScalar {
            text: file.get(whole.start..whole.end).unwrap_or_default(),
            whole,
            exact: true,
        }
    }

    /// A scalar's text.
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

    /// A part of it, by bytes of the text, without blanks around it.
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

    /// All of it, without blanks around it.
    pub(crate) fn trim(self) -> Self {
        self.cut(0, self.text.len())
    }

    /// As a part of the syntax tree.
    pub(crate) fn to_text(self) -> ScriptText {
        ScriptText {
            span: self.whole,
            value: self.text.into(),
        }
    }
}
