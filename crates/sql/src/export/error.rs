//! The error of an export.

use quillet_core::ErrorCode;

use super::format::ExportFormat;

/// Error for rows that an export format cannot represent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot write these rows as {}: {message}", .format.name())]
pub struct ExportError {
    /// The format.
    pub format: ExportFormat,
    pub(super) code: ErrorCode,
    /// The problem, including its position, and the fix.
    pub message: String,
}

impl ExportError {
    /// Returns the code for error bodies, which does not change between versions.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        self.code
    }

    /// Creates an error for a format.
    pub(crate) fn new(format: ExportFormat, message: impl Into<String>) -> Self {
        ExportError {
            format,
            code: ErrorCode::SqlExport,
            message: message.into(),
        }
    }
}
