//! Why a template does not compile or render.

use std::ops::Range;

use quillet_core::{Diagnostic, ErrorCode, LineColumn, Span};

use crate::TemplateSource;
use crate::limits::LimitKind;

/// The error of sources that do not compile: everything that was found.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{}", self.first())]
pub struct CompileError {
    /// The format's own full text of the first error (Go's message, say).
    pub message: String,
    /// Every finding, in order of place.
    pub diagnostics: Vec<Diagnostic>,
}

impl CompileError {
    /// One finding with its place.
    #[must_use]
    pub fn new(message: impl Into<String>, diagnostic: Diagnostic) -> Self {
        CompileError {
            message: message.into(),
            diagnostics: vec![diagnostic],
        }
    }

    /// A mistake at one place of a source, given in bytes.
    #[must_use]
    pub fn syntax(source: &TemplateSource<'_>, place: Range<usize>, message: &str) -> Self {
        let found = Diagnostic::error("template.syntax", source.name, message);
        let span = Span {
            start: place.start,
            end: place.end,
        };
        CompileError::new(message, found.at(source.text, span))
    }

    /// All findings of a set of sources as one error, if there are any.
    pub(crate) fn unless_empty(diagnostics: Vec<Diagnostic>) -> Result<(), Self> {
        match diagnostics.first().map(Diagnostic::to_string) {
            None => Ok(()),
            Some(message) => Err(CompileError {
                message,
                diagnostics,
            }),
        }
    }

    fn first(&self) -> &str {
        &self.message
    }
}

/// The kind of a [`RenderError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// A variable is not there, and the template is strict.
    MissingVariable,
    /// A function is not there.
    UnknownFunction,
    /// A variable that must not begin a message holds a line that would.
    StrictVariable,
    /// A late-bound function gave an error.
    CallFailed,
    /// The template cannot be evaluated with these values.
    Execution,
    /// A bound was reached.
    Limit(LimitKind),
}

impl ErrorKind {
    /// Stable code, as in error bodies.
    #[must_use]
    pub fn code(self) -> ErrorCode {
        match self {
            ErrorKind::MissingVariable => ErrorCode::RenderMissingVariable,
            ErrorKind::UnknownFunction => ErrorCode::RenderUnknownFunction,
            ErrorKind::StrictVariable => ErrorCode::RenderStrictVariable,
            ErrorKind::CallFailed => ErrorCode::RenderCallFailed,
            ErrorKind::Execution => ErrorCode::RenderExecution,
            ErrorKind::Limit(LimitKind::Time) => ErrorCode::RenderTimeout,
            ErrorKind::Limit(_) => ErrorCode::RenderLimit,
        }
    }
}

/// The error of a render.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub struct RenderError {
    /// What kind of failure it was.
    pub kind: ErrorKind,
    /// The format's own full text: Go's `template: NAME:LINE:COL: …`, say.
    pub message: String,
    /// The reason alone, without the place.
    pub reason: String,
    /// The source that was being evaluated.
    pub source_name: String,
    /// Where in that source.
    pub span: Option<Span>,
    /// The place for people.
    pub position: Option<LineColumn>,
    /// How to fix it.
    pub help: Option<String>,
}

impl RenderError {
    /// An error without a place.
    pub fn new(kind: ErrorKind, reason: impl Into<String>) -> Self {
        let reason = reason.into();
        RenderError {
            kind,
            message: reason.clone(),
            reason,
            source_name: String::new(),
            span: None,
            position: None,
            help: None,
        }
    }

    /// The same with its place, unless it has one: the name of a source, its
    /// text, and where in it.
    #[must_use]
    pub fn at(mut self, source: &str, text: &str, span: Span) -> Self {
        if self.span.is_some() {
            return self;
        }
        let at = LineColumn::of(text, span.start);
        self.message = format!("{source}:{}:{}: {}", at.line, at.column, self.reason);
        source.clone_into(&mut self.source_name);
        self.span = Some(span);
        self.position = Some(at);
        self
    }

    /// The error of a source that is asked for and was not among those that were compiled.
    pub(crate) fn no_source(name: &str) -> Self {
        let reason = format!("template {name:?} does not exist");
        RenderError::new(ErrorKind::Execution, reason)
    }

    /// The error of a bound: names it and what it is set to.
    #[must_use]
    pub fn limit(limit: LimitKind, setting: impl std::fmt::Display) -> Self {
        let name = limit.name();
        RenderError::new(
            ErrorKind::Limit(limit),
            format!("render stopped at the limit on {name} ({setting})"),
        )
    }
}
