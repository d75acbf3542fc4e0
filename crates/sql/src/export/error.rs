//! The error of an export.

use quillet_core::ErrorCode;

use super::format::ExportFormat;

/// The error of rows that cannot be written in a form.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot write these rows as {}: {message}", .format.name())]
pub struct ExportError {
    /// The form.
    pub format: ExportFormat,
    pub(super) code: ErrorCode,
    /// What stands in the way, with its place, and what helps.
    pub message: String,
}

impl ExportError {
    /// Stable code, as in error bodies.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        self.code
    }

    /// The form cannot hold these rows.
    pub(crate) fn new(format: ExportFormat, message: impl Into<String>) -> Self {
        ExportError {
            format,
            code: ErrorCode::SqlExport,
            message: message.into(),
        }
    }
}
