//! Storage of events that are too large for the workflow state. They go to the configured journal,
//! keyed by SHA-256 of their content, so storing them is idempotent.

use std::sync::Arc;
use std::time::Duration;

use quillet_core::history::Digest;
use quillet_core::journal::{Journal, JournalEvent, RunHead, RunSnapshot, RunState};
use quillet_core::store::{StoreError, StoreErrorKind};

use crate::workflow_state::{COURSE_BYTES, MOST_BYTES, STEP_BYTES, StepRef, StoredStepRef};

/// Kind and scope of journal runs that hold stored events. `quillet` ignores them; their early
/// creation time sorts them last in lists.
const KIND: &str = "kept";
/// Lease while events are written, so that no other process resumes the run.
const LEASE: Duration = Duration::from_secs(60);
/// Events per read.
const PAGE: usize = 500;

/// Stores events of runs in a journal that all workers share.
#[derive(Clone, Debug)]
pub struct StepStore {
    journal: Arc<dyn Journal>,
}

impl StepStore {
    /// Creates a step store that uses this journal.
    #[must_use]
    pub fn new(journal: Arc<dyn Journal>) -> Self {
        StepStore { journal }
    }

    /// Returns all events of a run, including events in the journal.
    ///
    /// # Errors
    /// The journal is unavailable, or no longer has the events.
    pub async fn steps(&self, kept: &[StepRef]) -> Result<Vec<JournalEvent>, StoreError> {
        let mut steps = Vec::new();
        for kept in kept {
            match kept {
                StepRef::Here(step) => steps.push(step.clone()),
                StepRef::Away(away) => steps.extend(self.get(away).await?),
            }
        }
        Ok(steps)
    }

    /// Converts events for the workflow state. Large events are moved to the journal.
    ///
    /// # Errors
    /// An event is too large for both.
    pub async fn store_large(&self, steps: Vec<JournalEvent>) -> Result<Vec<StepRef>, StoreError> {
        let mut kept = Vec::with_capacity(steps.len());
        for step in steps {
            let bytes = to_json(std::slice::from_ref(&step))?.len();
            if bytes <= STEP_BYTES {
                kept.push(StepRef::Here(step));
                continue;
            }
            match self.store_events(std::slice::from_ref(&step)).await {
                Ok(away) => kept.push(StepRef::Away(away)),
                // A completed model call is never repeated or lost, so its event stays in the
                // workflow state if it fits.
                Err(error) if bytes <= MOST_BYTES => {
                    tracing::warn!(%error, bytes, "a step stays with the workflow");
                    kept.push(StepRef::Here(step));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(kept)
    }

    /// Moves the events of the workflow state to the journal if their total size is too large.
    /// Returns `None` if nothing is moved.
    pub async fn move_to_journal(&self, kept: &[StepRef]) -> Option<Vec<StepRef>> {
        let mut here = 0;
        for kept in kept {
            if let StepRef::Here(step) = kept {
                here += to_json(std::slice::from_ref(step)).map_or(0, |text| text.len());
            }
        }
        // Few events stay: a journal write per activity would cost more than it saves.
        if here <= COURSE_BYTES {
            return None;
        }
        let mut moved = Vec::new();
        // Neighbours are stored as one run of the journal; stored groups keep their place, because
        // the order of events matters.
        for group in kept.chunk_by(|one, next| is_here(one) && is_here(next)) {
            if !group.iter().all(is_here) {
                moved.extend_from_slice(group);
                continue;
            }
            let steps = group.iter().filter_map(|kept| match kept {
                StepRef::Here(step) => Some(step.clone()),
                StepRef::Away(_) => None,
            });
            match self.store_events(&steps.collect::<Vec<_>>()).await {
                Ok(away) => moved.push(StepRef::Away(away)),
                Err(error) => {
                    tracing::warn!(%error, bytes = here, "steps stay with the workflow");
                    return None;
                }
            }
        }
        Some(moved)
    }

    async fn store_events(&self, steps: &[JournalEvent]) -> Result<StoredStepRef, StoreError> {
        // The JSON decides the id, so it is serialized once here and compared again when it is
        // read.
        let text = to_json(steps)?;
        let away = StoredStepRef {
            sha256: Digest::of(text.as_bytes()),
            steps: steps.len(),
            bytes: text.len(),
        };
        let id = id(&away);
        let head = RunHead {
            id: id.as_str().into(),
            kind: KIND.into(),
            scope: KIND.into(),
            // The oldest possible time sorts these runs behind all real runs.
            created_ms: 1,
            ..RunHead::default()
        };
        let claim = match self.journal.begin(&head, steps, LEASE).await {
            Ok(claim) => claim,
            // The first writer may have died before the end, so an abandoned run is claimed and
            // completed.
            Err(error) if error.kind == StoreErrorKind::Conflict => {
                match self.journal.claim(&id, LEASE).await? {
                    Some(claim) => claim,
                    None => return Ok(away),
                }
            }
            Err(error) => return Err(error),
        };
        let ended = RunSnapshot::at(RunState::Ended);
        self.journal.append(&id, claim.epoch, &[], &ended).await?;
        Ok(away)
    }

    async fn get(&self, away: &StoredStepRef) -> Result<Vec<JournalEvent>, StoreError> {
        let id = id(away);
        let mut steps = Vec::with_capacity(away.steps);
        loop {
            let after = u64::try_from(steps.len()).unwrap_or(u64::MAX);
            let page = self.journal.read(&id, after, PAGE).await?;
            let is_last = page.len() < PAGE;
            steps.extend(page.into_iter().map(|entry| entry.step));
            if is_last {
                break;
            }
        }
        if Digest::of(to_json(&steps)?.as_bytes()) == away.sha256 {
            return Ok(steps);
        }
        let message = format!(
            "{}: events {} of a run are incomplete ({} of {}): check that all workers use the same \
             agent.journal, and that agent.journal_days is longer than the run",
            self.journal.describe(),
            away.sha256,
            steps.len(),
            away.steps
        );
        Err(StoreError::new(StoreErrorKind::Corrupt, message))
    }
}

fn id(away: &StoredStepRef) -> String {
    format!("{KIND}.{}", away.sha256)
}

fn is_here(kept: &StepRef) -> bool {
    matches!(kept, StepRef::Here(_))
}

fn to_json(steps: &[JournalEvent]) -> Result<String, StoreError> {
    serde_json::to_string(steps).map_err(|error| {
        let message = format!("cannot write an event of a run as JSON: {error}");
        StoreError::new(StoreErrorKind::Refused, message)
    })
}
