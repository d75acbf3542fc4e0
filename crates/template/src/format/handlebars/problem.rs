//! What is wrong with a source, on the way to a diagnostic.

use quillet_core::{Diagnostic, Span};

use crate::CompileError;

/// More than these are not looked for in one source.
pub(super) const MOST_PROBLEMS: usize = 20;

#[derive(Debug)]
pub(super) struct Problem {
    pub(super) code: &'static str,
    pub(super) message: String,
    pub(super) span: Span,
    pub(super) help: Option<String>,
}

impl Problem {
    /// A mistake in the syntax.
    pub(super) fn syntax(message: impl Into<String>, span: Span) -> Self {
        Problem {
            code: "template.syntax",
            message: message.into(),
            span,
            help: None,
        }
    }

    /// A bound that the source passes.
    pub(super) fn limit(message: String, span: Span) -> Self {
        Problem {
            code: "template.limit",
            ..Problem::syntax(message, span)
        }
    }

    /// Adds how to fix it.
    pub(super) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    pub(super) fn diagnostic(self, source: &str, text: &str) -> Diagnostic {
        let found = Diagnostic::error(self.code, source, self.message).at(text, self.span);
        match self.help {
            Some(help) => found.help(help),
            None => found,
        }
    }
}

/// The error of a set of sources, if anything is wrong with them.
pub(super) fn compile_error(diagnostics: Vec<Diagnostic>) -> Option<CompileError> {
    let message = diagnostics.first()?.to_string();
    Some(CompileError {
        message,
        diagnostics,
    })
}
