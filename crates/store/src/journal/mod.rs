//! What runs did, step by step: in an SQLite file for the processes of one machine, in Redis for
//! those of many.
//!
//! What both of them say to a caller is here, so that they say the same.

mod sqlite;

use std::time::Duration;

use quillet_core::journal::{JournalEvent, RunHead, RunSnapshot, RunState};
use quillet_core::store::{StoreError, StoreErrorKind};

pub use sqlite::SqliteJournal;

/// Longest time that is told from one without an end, in milliseconds: thousands of years, and
/// small enough to be added to a time of today in SQLite, in Redis and in Lua.
pub(crate) const LONGEST_MS: u64 = 1 << 48;

/// Bounds of what is kept about runs.
#[derive(Clone, Debug)]
pub struct JournalOptions {
    /// Most bytes of one step; 16 MiB, which is above what any answer of a model or any result may
    /// be.
    pub max_step_bytes: usize,
    /// Most steps of one run; 10,000. Those with which it ends come on top.
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

impl JournalOptions {
    /// The steps as text, one for each.
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

    /// What a run waits for, as text.
    pub(crate) fn waiting(&self, run: &str, standing: &RunSnapshot) -> Result<String, StoreError> {
        let text = written(&standing.waiting)?;
        self.fits(run, "parked", text.len())?;
        Ok(text)
    }

    /// Refuses a step that is too large.
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

    /// Refuses steps beyond the most that a run may have. Its last ones are written in any case: a
    /// run that cannot end would go on for ever.
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

    /// Why steps are refused.
    pub(crate) fn too_many(&self, run: &str, last: u64, more: usize) -> StoreError {
        let message = format!(
            "run id {run:?}: too many steps: {last} written and {more} more, and the limit is {} (agent.journal_steps)",
            self.max_steps
        );
        StoreError::new(StoreErrorKind::Refused, message)
    }

    /// How long a run is kept after its end, in milliseconds.
    pub(crate) fn keep_ms(&self) -> u64 {
        millis(self.keep)
    }
}

/// Two runs of one id would be one.
pub(crate) fn exists(run: &str) -> StoreError {
    let message = format!("run id {run:?}: a run with this id exists, choose another id");
    StoreError::new(StoreErrorKind::Conflict, message)
}

/// The owner that writes is none any more.
pub(crate) fn lost(run: &str) -> StoreError {
    let message = format!("run id {run:?}: another process has taken over this run");
    StoreError::new(StoreErrorKind::Conflict, message)
}

/// A step that is there and says nothing.
pub(crate) fn unreadable(run: &str, number: u64, error: &serde_json::Error) -> StoreError {
    let message = format!(
        "run id {run:?}: cannot read step {number}: {error}; a later version or another program wrote it: resume with that version, or fork the run at an earlier step"
    );
    StoreError::new(StoreErrorKind::Corrupt, message)
}

/// What still goes on is not forgotten.
pub(crate) fn not_ended(run: &str) -> StoreError {
    let message = format!("run id {run:?}: the run has not ended, cancel it first");
    StoreError::new(StoreErrorKind::Conflict, message)
}

/// Refuses to say of a run that nobody owns that it goes on: its earlier owner, whose epoch is
/// still the latest, could write again and not know what was interjected.
pub(crate) fn may_interject(run: &str, standing: &RunSnapshot) -> Result<(), StoreError> {
    if standing.state != RunState::Running {
        return Ok(());
    }
    let message = format!("run id {run:?}: a run without an owner cannot be in the state running");
    Err(StoreError::new(StoreErrorKind::Refused, message))
}

/// What never changes about a run, as text. The rest of its head is kept beside it.
pub(crate) fn head_text(head: &RunHead) -> Result<String, StoreError> {
    written(&RunHead {
        updated_ms: 0,
        last: 0,
        standing: RunSnapshot::default(),
        ..head.clone()
    })
}

/// A part of a run as text.
fn written(part: &impl serde::Serialize) -> Result<String, StoreError> {
    serde_json::to_string(part).map_err(|error| {
        let message = format!("cannot write a step of a run as JSON: {error}");
        StoreError::new(StoreErrorKind::Refused, message)
    })
}

/// A time in milliseconds that can be added to one of today.
pub(crate) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis())
        .unwrap_or(LONGEST_MS)
        .min(LONGEST_MS)
}
