//! The error of an export.

use quillet_core::ErrorCode;

use super::format::ExportFormat;

/// The error of rows that cannot be exported in a format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot write these rows as {}: {message}", .format.name())]
pub struct ExportError {
    /// The format.
    pub format: ExportFormat,
    pub(super) code: ErrorCode,
    /// The problem with its position, and the fix.
    pub message: String,
}

impl ExportError {
    /// Stable code, as in error bodies.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        self.code
    }

    /// Creates an error of a format.
    pub(crate) fn new(format: ExportFormat, message: impl Into<String>) -> Self {
        ExportError {
            format,
            code: ErrorCode::SqlExport,
            message: message.into(),
        }
    }
}
