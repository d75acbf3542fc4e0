//! Errors of compiling and rendering templates.

use std::ops::Range;

use quillet_core::{Diagnostic, ErrorCode, LineColumn, Span};

use crate::TemplateSource;
use crate::limits::LimitKind;

/// Error for sources that do not compile, including all diagnostics.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{}", self.first())]
pub struct CompileError {
    /// Full message of the first error, in the form that the format's reference implementation
    /// (such as Go) uses.
    pub message: String,
    /// All diagnostics, ordered by location.
    pub diagnostics: Vec<Diagnostic>,
}

impl CompileError {
    /// Creates an error that has a single diagnostic.
    #[must_use]
    pub fn new(message: impl Into<String>, diagnostic: Diagnostic) -> Self {
        CompileError {
            message: message.into(),
            diagnostics: vec![diagnostic],
        }
    }

    /// Creates an error at a byte range of a source.
    ///
    /// # Examples
    ///
    /// ```
    /// use quillet_template::{CompileError, TemplateSource};
    ///
    /// let source = TemplateSource::new("greet", "Hi }");
    /// let error = CompileError::syntax(&source, 3..4, "unexpected }");
    /// assert_eq!(error.diagnostics[0].to_string(), "greet:1:4: unexpected }");
    /// ```
    #[must_use]
    pub fn syntax(source: &TemplateSource<'_>, place: Range<usize>, message: &str) -> Self {
        let found = Diagnostic::error("template.syntax", source.name, message);
        let span = Span {
            start: place.start,
            end: place.end,
        };
        CompileError::new(message, found.at(source.text, span))
    }

    /// Combines the diagnostics of a set of sources into one error. Returns `Ok` if there are none.
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
    /// A missing variable in a strict template.
    MissingVariable,
    /// A missing function.
    UnknownFunction,
    /// A strict variable contains a line that would begin a message.
    StrictVariable,
    /// A late-bound function failed.
    CallFailed,
    /// The template cannot be evaluated with these values.
    Execution,
    /// A limit was exceeded.
    Limit(LimitKind),
}

impl ErrorKind {
    /// Returns the code for error bodies, which does not change between versions.
    ///
    /// # Examples
    ///
    /// ```
    /// use quillet_template::{ErrorKind, LimitKind};
    ///
    /// assert_eq!(ErrorKind::MissingVariable.code().as_str(), "render.missing_variable");
    /// assert_eq!(ErrorKind::Limit(LimitKind::Steps).code().as_str(), "render.limit");
    /// ```
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

/// Error of a render.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub struct RenderError {
    /// Kind of the failure.
    pub kind: ErrorKind,
    /// Full message in the form that the format's reference implementation uses, such as Go's
    /// `template: NAME:LINE:COL: …`.
    pub message: String,
    /// The reason, without the location.
    pub reason: String,
    /// Name of the source that was being evaluated.
    pub source_name: String,
    /// Span in that source.
    pub span: Option<Span>,
    /// Line and column.
    pub position: Option<LineColumn>,
    /// Suggested fix.
    pub help: Option<String>,
}

impl RenderError {
    /// Creates an error without a location.
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

    /// Adds a location, unless the error already has a location. The location consists of the name
    /// of a source, its text, and a span.
    ///
    /// # Examples
    ///
    /// ```
    /// use quillet_core::Span;
    /// use quillet_template::{ErrorKind, RenderError};
    ///
    /// let error = RenderError::new(ErrorKind::Execution, "division by zero");
    /// let error = error.at("greet", "Hi\n{{ 1 / 0 }}", Span { start: 6, end: 11 });
    /// assert_eq!(error.to_string(), "greet:2:4: division by zero");
    /// ```
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

    /// Creates the error for a requested source that was not compiled.
    pub(crate) fn no_source(name: &str) -> Self {
        let reason = format!("template {name:?} does not exist");
        RenderError::new(ErrorKind::Execution, reason)
    }

    /// Creates the error for an exceeded limit. The message contains the name of the limit and the
    /// setting.
    ///
    /// # Examples
    ///
    /// ```
    /// use quillet_template::{LimitKind, RenderError};
    ///
    /// let error = RenderError::limit(LimitKind::Steps, 1000);
    /// assert_eq!(error.to_string(), "render stopped at the limit on steps (1000)");
    /// ```
    #[must_use]
    pub fn limit(limit: LimitKind, setting: impl std::fmt::Display) -> Self {
        let name = limit.name();
        RenderError::new(
            ErrorKind::Limit(limit),
            format!("render stopped at the limit on {name} ({setting})"),
        )
    }
}
