//! What is wrong with a source, on its way to a diagnostic. Go's messages are Go's own and do not
//! come this way.

use std::ops::{Deref, DerefMut};

use quillet_core::{Diagnostic, Span};

use crate::TemplateSource;

/// More than these are not looked for in one source.
pub(super) const MOST_PROBLEMS: usize = 20;

/// One finding. One pointer wide, since parsers recurse and every level has room for one on its
/// stack.
#[derive(Clone, Debug)]
pub(super) struct ParseProblem(Box<ProblemDetail>);

/// What a [`ParseProblem`] says.
#[derive(Clone, Debug)]
pub(super) struct ProblemDetail {
    pub(super) message: String,
    pub(super) span: Span,
    pub(super) help: Option<String>,
    code: &'static str,
    /// Whether the format's own reader takes the source, and finds this only when it evaluates it.
    pub(super) is_late: bool,
}

impl ParseProblem {
    /// A mistake in the syntax.
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

    /// The same as a bound that the source passes.
    pub(super) fn limit(mut self) -> Self {
        self.code = "template.limit";
        self
    }

    pub(super) fn late(mut self) -> Self {
        self.is_late = true;
        self
    }

    /// Adds how to fix it.
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
