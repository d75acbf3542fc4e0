//! What is wrong with a Liquid template.

use quillet_core::{Diagnostic, Span};

/// One finding. Always in a box: the parser recurses.
#[derive(Debug)]
pub(super) struct Problem {
    message: String,
    span: Span,
    help: Option<String>,
    code: &'static str,
}

impl Problem {
    pub(super) fn at(message: impl Into<String>, start: usize, end: usize) -> Box<Self> {
        Box::new(Problem {
            message: message.into(),
            span: Span { start, end },
            help: None,
            code: "template.syntax",
        })
    }

    pub(super) fn help(mut self: Box<Self>, help: impl Into<String>) -> Box<Self> {
        self.help = Some(help.into());
        self
    }

    pub(super) fn limit(mut self: Box<Self>) -> Box<Self> {
        self.code = "template.limit";
        self
    }

    pub(super) fn diagnostic(self, name: &str, text: &str) -> Diagnostic {
        let found = Diagnostic::error(self.code, name, self.message).at(text, self.span);
        match self.help {
            Some(help) => found.help(help),
            None => found,
        }
    }
}
