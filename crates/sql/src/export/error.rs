//! The error of an export.

use quillet_core::ErrorCode;

use super::format::ExportFormat;

/// The error of exporting rows in a format that cannot represent them.
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
    /// Returns the stable code used in error bodies.
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
