//! What is wrong with a format string.

use quillet_core::{Diagnostic, Span};

/// One finding.
#[derive(Clone, Debug)]
pub(super) struct Problem {
    pub(super) message: String,
    pub(super) span: Span,
    pub(super) help: Option<String>,
    /// Whether Python finds it when it reads the string, and not only when it
    /// formats.
    pub(super) early: bool,
}

impl Problem {
    pub(super) fn new(message: impl Into<String>, start: usize, end: usize) -> Self {
        Problem {
            message: message.into(),
            span: Span { start, end },
            help: None,
            early: true,
        }
    }

    pub(super) fn late(self) -> Self {
        Problem {
            early: false,
            ..self
        }
    }

    pub(super) fn help(self, help: impl Into<String>) -> Self {
        Problem {
            help: Some(help.into()),
            ..self
        }
    }

    pub(super) fn diagnostic(self, name: &str, text: &str) -> Diagnostic {
        let found = Diagnostic::error("template.syntax", name, self.message).at(text, self.span);
        match self.help {
            Some(help) => found.help(help),
            None => found,
        }
    }
}
