//! The error of a query that the guard rejects.

use std::ops::Range;

use quillet_core::{ErrorCode, LineColumn, Span};

/// The reason why a query is rejected.
///
/// ```
/// use quillet_core::ErrorCode;
/// use quillet_sql::SqlDialect::Sqlite;
/// use quillet_sql::guard::{Policy, check};
///
/// let policy = Policy {
///     depth: 2,
///     ..Policy::default()
/// };
/// let error = check("SELECT (((1)))", Sqlite, None, &policy).unwrap_err();
/// assert_eq!(error.code, ErrorCode::GuardDepth);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct GuardError {
    /// Error code, `sql.guard.…`, which does not change between versions.
    pub code: ErrorCode,
    /// The problem in one sentence, without a full stop.
    pub message: String,
    /// Position in the query, in bytes.
    pub span: Option<Span>,
    /// Line and column of the span's start.
    pub position: Option<LineColumn>,
    /// The fix, such as a similar name or the allowed alternatives.
    pub help: Option<String>,
}

impl GuardError {
    pub(crate) fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        GuardError {
            code,
            message: message.into(),
            span: None,
            position: None,
            help: None,
        }
    }

    pub(crate) fn at(mut self, source: &str, bytes: &Range<usize>) -> Self {
        self.position = Some(LineColumn::of(source, bytes.start));
        self.span = Some(Span {
            start: bytes.start,
            end: bytes.end,
        });
        self
    }

    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}
