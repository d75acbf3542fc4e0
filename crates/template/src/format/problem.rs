//! Errors of a source before they become diagnostics. The Go format does not use them.

use std::ops::{Deref, DerefMut};

use quillet_core::{Diagnostic, Span};

use crate::TemplateSource;

/// Maximum number of errors in one source.
pub(super) const MOST_PROBLEMS: usize = 20;

/// A parse error. It is one pointer wide, because parsers recurse and every level reserves stack
/// for an error.
#[derive(Clone, Debug)]
pub(super) struct ParseProblem(Box<ProblemDetail>);

/// Contents of a [`ParseProblem`].
#[derive(Clone, Debug)]
pub(super) struct ProblemDetail {
    pub(super) message: String,
    pub(super) span: Span,
    pub(super) help: Option<String>,
    code: &'static str,
    /// Whether the format's host accepts the source and fails only at render time.
    pub(super) is_late: bool,
}

impl ParseProblem {
    /// Creates a syntax error.
    pub(super) fn new(message: impl Into<String>, span: Span) -> Self {
        ParseProblem(Box::new(ProblemDetail {
            message: message.into(),
            span,
            help: None,
            code: "template.syntax",
            is_late: false,
        }))
    }

    pub(super) fn at(message: impl Into<String>, start: usize, end: usize) -> Self {
        ParseProblem::new(message, Span { start, end })
    }

    /// Marks the error as an exceeded limit.
    pub(super) fn limit(mut self) -> Self {
        self.code = "template.limit";
        self
    }

    pub(super) fn late(mut self) -> Self {
        self.is_late = true;
        self
    }

    /// Adds a suggested fix.
    pub(super) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    pub(super) fn diagnostic(self, source: &TemplateSource<'_>) -> Diagnostic {
        let ProblemDetail {
            message,
            span,
            help,
            code,
            ..
        } = *self.0;
        let found = Diagnostic::error(code, source.name, message).at(source.text, span);
        match help {
            Some(help) => found.help(help),
            None => found,
        }
    }
}

impl Deref for ParseProblem {
    type Target = ProblemDetail;

    fn deref(&self) -> &ProblemDetail {
        &self.0
    }
}

impl DerefMut for ParseProblem {
    fn deref_mut(&mut self) -> &mut ProblemDetail {
        &mut self.0
    }
}
