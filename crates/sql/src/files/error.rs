//! The error of loading a file.

use quillet_core::ErrorCode;
use std::fmt;
use std::path::{Path, PathBuf};

/// Error for a file that cannot be loaded, including the position and the fix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileError {
    /// Error code, `sql.file.…`, which does not change between versions.
    pub code: ErrorCode,
    /// The file.
    pub path: PathBuf,
    /// The line, from 1.
    pub line: Option<u64>,
    /// The column in the line, counted in characters from 1.
    pub column: Option<u64>,
    /// The problem.
    pub message: String,
    /// The fix.
    pub help: Option<String>,
}

impl FileError {
    /// Creates an error that concerns the whole file.
    pub fn new(code: ErrorCode, path: &Path, message: impl Into<String>) -> Self {
        FileError {
            code,
            path: path.to_owned(),
            line: None,
            column: None,
            message: message.into(),
            help: None,
        }
    }

    /// Sets the line of the error.
    #[must_use]
    pub fn at(self, line: u64) -> Self {
        FileError {
            line: Some(line),
            ..self
        }
    }

    /// Sets the fix.
    #[must_use]
    pub fn help(self, help: impl Into<String>) -> Self {
        FileError {
            help: Some(help.into()),
            ..self
        }
    }
}

impl fmt::Display for FileError {
    /// Formats `file:line:column: problem`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())?;
        for place in [self.line, self.column].into_iter().flatten() {
            write!(f, ":{place}")?;
        }
        write!(f, ": {}", self.message)
    }
}

impl std::error::Error for FileError {}
