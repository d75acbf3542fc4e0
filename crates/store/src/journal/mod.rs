//! Journals of runs: in SQLite for the processes on one machine, in Redis for several machines.
//!
//! This module contains the errors and limits that both stores share.

mod sqlite;

use std::time::Duration;

use quillet_core::journal::{JournalEvent, RunHead, RunSnapshot, RunState};
use quillet_core::store::{StoreError, StoreErrorKind};

pub use sqlite::SqliteJournal;

/// Maximum duration in milliseconds, used in place of an unlimited one. It is thousands of years,
/// but small enough to be added to the current time in SQLite, Redis and Lua.
pub(crate) const LONGEST_MS: u64 = 1 << 48;

/// Limits on journals.
#[derive(Clone, Debug)]
pub struct JournalOptions {
    /// Maximum size of one event in bytes; 16 MiB, more than any model answer or tool result may
    /// have.
    pub max_step_bytes: usize,
    /// Maximum number of events in a run; 10,000. Events that end the run are always accepted.
    pub max_steps: u64,
    /// How long a run is stored after its end; 30 days.
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

impl JournalOptions {
    /// Returns the JSON of each event.
    pub(crate) fn texts(
        &self,
        run: &str,
        steps: &[JournalEvent],
    ) -> Result<Vec<String>, StoreError> {
        let text = |step: &JournalEvent| {
            let text = written(step)?;
            self.fits(run, step.name(), text.len())?;
            Ok(text)
        };
        steps.iter().map(text).collect()
    }

    /// Returns the JSON of a run's pending calls.
    pub(crate) fn waiting(&self, run: &str, standing: &RunSnapshot) -> Result<String, StoreError> {
        let text = written(&standing.waiting)?;
        self.fits(run, "parked", text.len())?;
        Ok(text)
    }

    /// Rejects an event that is too large.
    fn fits(&self, run: &str, name: &str, bytes: usize) -> Result<(), StoreError> {
        let most = self.max_step_bytes;
        if bytes <= most {
            return Ok(());
        }
        let message = format!(
            "run id {run:?}: step {name} has {bytes} bytes, and the limit is {most} (agent.journal_step_bytes)"
        );
        Err(StoreError::new(StoreErrorKind::Refused, message))
    }

    /// Rejects events above the limit of a run. Its final events are always written, because a run
    /// that cannot end would never stop.
    pub(crate) fn has_room(
        &self,
        run: &str,
        last: u64,
        more: usize,
        state: RunState,
    ) -> Result<(), StoreError> {
        let steps = last.saturating_add(u64::try_from(more).unwrap_or(u64::MAX));
        if steps <= self.max_steps || state == RunState::Ended {
            return Ok(());
        }
        Err(self.too_many(run, last, more))
    }

    /// Error for too many events.
    pub(crate) fn too_many(&self, run: &str, last: u64, more: usize) -> StoreError {
        let message = format!(
            "run id {run:?}: too many steps: {last} written and {more} more, and the limit is {} (agent.journal_steps)",
            self.max_steps
        );
        StoreError::new(StoreErrorKind::Refused, message)
    }

    /// Returns how long a run is stored after its end, in milliseconds.
    pub(crate) fn keep_ms(&self) -> u64 {
        millis(self.keep)
    }
}

/// Error for a run id that already exists.
pub(crate) fn exists(run: &str) -> StoreError {
    let message = format!("run id {run:?}: a run with this id exists; choose another id");
    StoreError::new(StoreErrorKind::Conflict, message)
}

/// Error for a writer that no longer owns the run.
pub(crate) fn lost(run: &str) -> StoreError {
    let message = format!("run id {run:?}: another process has taken over this run");
    StoreError::new(StoreErrorKind::Conflict, message)
}

/// Error for a stored event that cannot be parsed.
pub(crate) fn unreadable(run: &str, number: u64, error: &serde_json::Error) -> StoreError {
    let message = format!(
        "run id {run:?}: cannot read step {number}: {error}; a later version or another program wrote it: resume with that version, or fork the run at an earlier step"
    );
    StoreError::new(StoreErrorKind::Corrupt, message)
}

/// Error for removing a run that has not ended.
pub(crate) fn not_ended(run: &str) -> StoreError {
    let message = format!("run id {run:?}: the run has not ended; cancel it first");
    StoreError::new(StoreErrorKind::Conflict, message)
}

/// Rejects changing a run without an owner to running: its previous owner still has the latest
/// epoch and could write again without knowing the new event.
pub(crate) fn may_interject(run: &str, standing: &RunSnapshot) -> Result<(), StoreError> {
    if standing.state != RunState::Running {
        return Ok(());
    }
    let message = format!("run id {run:?}: a run without an owner cannot be in the state running");
    Err(StoreError::new(StoreErrorKind::Refused, message))
}

/// Returns the JSON of the constant part of a run's head. The other fields are stored separately.
pub(crate) fn head_text(head: &RunHead) -> Result<String, StoreError> {
    written(&RunHead {
        updated_ms: 0,
        last: 0,
        standing: RunSnapshot::default(),
        ..head.clone()
    })
}

/// Serializes a part of a run.
fn written(part: &impl serde::Serialize) -> Result<String, StoreError> {
    serde_json::to_string(part).map_err(|error| {
        let message = format!("cannot write a step of a run as JSON: {error}");
        StoreError::new(StoreErrorKind::Refused, message)
    })
}

/// Converts a duration to milliseconds, limited so it can be added to the current time.
pub(crate) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis())
        .unwrap_or(LONGEST_MS)
        .min(LONGEST_MS)
}
