//! What runs did, step by step: in an SQLite file for the processes of one machine.
//!
//! A commit survives the end of the process, not that of the machine: see the settings of
//! [`crate::sqlite`].

mod sqlite;

use std::time::Duration;

use quillet_core::store::{StoreError, StoreErrorKind};

pub use sqlite::SqliteJournal;

/// Bounds of what is kept about runs.
#[derive(Clone, Debug)]
pub struct JournalOptions {
    /// Most bytes of one step; 16 MiB, which is above what any answer of a model or any result may
    /// be.
    pub max_step_bytes: usize,
    /// Most steps of one run; 10,000.
    pub max_steps: u64,
    /// How long a run is kept after its end; 30 days.
    pub keep: Duration,
}

impl Default for JournalOptions {
    fn default() -> Self {
        JournalOptions {
            max_step_bytes: 16 << 20,
            max_steps: 10_000,
            keep: Duration::from_secs(30 * 24 * 3600),
        }
    }
}

/// Two runs of one id would be one.
pub(crate) fn exists(run: &str) -> StoreError {
    let message = format!("run id {run:?}: there is a run of this id, choose another id");
    StoreError::new(StoreErrorKind::Conflict, message)
}

/// The owner that writes is none any more.
pub(crate) fn lost(run: &str) -> StoreError {
    let message = format!("run id {run:?}: another process goes on with this run");
    StoreError::new(StoreErrorKind::Conflict, message)
}

/// What still goes on is not forgotten.
pub(crate) fn not_ended(run: &str) -> StoreError {
    let message = format!("run id {run:?}: the run has not ended, cancel it first");
    StoreError::new(StoreErrorKind::Conflict, message)
}

impl JournalOptions {
    /// Refuses a step that is too large, or one too many.
    pub(crate) fn fits(&self, run: &str, name: &str, bytes: usize) -> Result<(), StoreError> {
        let most = self.max_step_bytes;
        if bytes <= most {
            return Ok(());
        }
        let message = format!(
            "run id {run:?}: the step {name} has {bytes} bytes, and the limit is {most} \
             (journal.step_bytes)"
        );
        Err(StoreError::new(StoreErrorKind::Refused, message))
    }

    /// Refuses steps beyond the most that a run may have.
    pub(crate) fn has_room(&self, run: &str, last: u64) -> Result<(), StoreError> {
        let most = self.max_steps;
        if last < most {
            return Ok(());
        }
        let message =
            format!("run id {run:?}: it has {last} steps, and the limit is {most} (journal.steps)");
        Err(StoreError::new(StoreErrorKind::Refused, message))
    }
}

/// A part of a run as text.
pub(crate) fn written(part: &impl serde::Serialize) -> Result<String, StoreError> {
    serde_json::to_string(part).map_err(|error| {
        let message = format!("a step of a run cannot be written as JSON: {error}");
        StoreError::new(StoreErrorKind::Refused, message)
    })
}
