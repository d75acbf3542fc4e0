//! Context for errors of one call: the file and its time limit.

use std::path::PathBuf;
use std::time::Duration;

use super::error;
use crate::database::DatabaseError;

/// Context for the errors of one call.
pub(super) struct WorkContext {
    pub(super) path: PathBuf,
    pub(super) time: Duration,
}

impl WorkContext {
    /// Converts an SQLite error.
    pub(super) fn fault(&self, error: &rusqlite::Error) -> DatabaseError {
        error::from_sqlite(&self.path, self.time, error)
    }
}
