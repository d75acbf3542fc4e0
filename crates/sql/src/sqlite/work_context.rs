//! What the errors of one call name: the file and its time limit.

use std::path::PathBuf;
use std::time::Duration;

use super::error;
use crate::database::DatabaseError;

/// What errors of some work name.
pub(super) struct WorkContext {
    pub(super) path: PathBuf,
    pub(super) time: Duration,
}

impl WorkContext {
    /// An error that SQLite gave.
    pub(super) fn fault(&self, error: &rusqlite::Error) -> DatabaseError {
        error::from_sqlite(&self.path, self.time, error)
    }
}
