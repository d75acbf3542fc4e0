//! What is wrong with a Mustache template.

use quillet_core::{Diagnostic, Span};

/// One finding.
#[derive(Debug)]
pub(super) struct Problem {
    message: String,
    span: Span,
    help: Option<String>,
    code: &'static str,
}

impl Problem {
    pub(super) fn new(message: impl Into<String>, start: usize, end: usize) -> Self {
        Problem {
            message: message.into(),
            span: Span { start, end },
            help: None,
            code: "template.syntax",
        }
    }

    pub(super) fn help(self, help: impl Into<String>) -> Self {
        Problem {
            help: Some(help.into()),
            ..self
        }
    }

    pub(super) fn limit(self) -> Self {
        Problem {
            code: "template.limit",
            ..self
        }
    }

    pub(super) fn diagnostic(self, name: &str, text: &str) -> Diagnostic {
        let found = Diagnostic::error(self.code, name, self.message).at(text, self.span);
        match self.help {
            Some(help) => found.help(help),
            None => found,
        }
    }
}
