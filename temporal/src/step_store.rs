//! Where steps lie that are too large for the workflow: in the journal of the settings, by the
//! SHA-256 of what they are, so that putting them there twice is putting them there once.

use std::sync::Arc;
use std::time::Duration;

use quillet_core::history::Digest;
use quillet_core::journal::{Journal, JournalEvent, RunHead, RunSnapshot, RunState};
use quillet_core::store::{StoreError, StoreErrorKind};

use crate::workflow_state::{COURSE_BYTES, MOST_BYTES, STEP_BYTES, StepRef, StoredStepRef};

/// What the runs of the journal are that are shelves, and whose. `quillet` leaves them alone; that
/// they seem to be the oldest keeps them behind all others in lists.
const KIND: &str = "kept";
/// Time in which a shelf is filled; nobody goes on with it meanwhile.
const LEASE: Duration = Duration::from_secs(60);
/// Steps that are read at once.
const PAGE: usize = 500;

/// Steps of runs, in a journal that all workers reach.
#[derive(Clone, Debug)]
pub struct StepStore {
    journal: Arc<dyn Journal>,
}

impl StepStore {
    /// Over this journal.
    #[must_use]
    pub fn new(journal: Arc<dyn Journal>) -> Self {
        StepStore { journal }
    }

    /// All steps of a run, from wherever they lie.
    ///
    /// # Errors
    /// The journal does not answer, or does not have them any more.
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

    /// Steps as the workflow keeps them: large ones go to the journal.
    ///
    /// # Errors
    /// A step is too large for both.
    pub async fn keep(&self, steps: Vec<JournalEvent>) -> Result<Vec<StepRef>, StoreError> {
        let mut kept = Vec::with_capacity(steps.len());
        for step in steps {
            let bytes = written(std::slice::from_ref(&step))?.len();
            if bytes <= STEP_BYTES {
                kept.push(StepRef::Here(step));
                continue;
            }
            match self.put(std::slice::from_ref(&step)).await {
                Ok(away) => kept.push(StepRef::Away(away)),
                // What was asked and paid for is not lost for want of a place.
                Err(error) if bytes <= MOST_BYTES => {
                    tracing::warn!(%error, bytes, "a step stays with the workflow");
                    kept.push(StepRef::Here(step));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(kept)
    }

    /// The same steps, with those that the workflow had itself in the journal, if there are many.
    pub async fn moved(&self, kept: &[StepRef]) -> Option<Vec<StepRef>> {
        let mut here = 0;
        for kept in kept {
            if let StepRef::Here(step) = kept {
                here += written(std::slice::from_ref(step)).map_or(0, |text| text.len());
            }
        }
        if here <= COURSE_BYTES {
            return None;
        }
        let mut moved = Vec::new();
        for group in kept.chunk_by(|one, next| is_here(one) && is_here(next)) {
            if !group.iter().all(is_here) {
                moved.extend_from_slice(group);
                continue;
            }
            let steps = group.iter().filter_map(|kept| match kept {
                StepRef::Here(step) => Some(step.clone()),
                StepRef::Away(_) => None,
            });
            match self.put(&steps.collect::<Vec<_>>()).await {
                Ok(away) => moved.push(StepRef::Away(away)),
                Err(error) => {
                    tracing::warn!(%error, bytes = here, "steps stay with the workflow");
                    return None;
                }
            }
        }
        Some(moved)
    }

    async fn put(&self, steps: &[JournalEvent]) -> Result<StoredStepRef, StoreError> {
        let text = written(steps)?;
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
            created_ms: 1,
            ..RunHead::default()
        };
        let claim = match self.journal.begin(&head, steps, LEASE).await {
            Ok(claim) => claim,
            // Whoever put it there first may have been killed before it was whole.
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
        if Digest::of(written(&steps)?.as_bytes()) == away.sha256 {
            return Ok(steps);
        }
        let message = format!(
            "{}: steps {} of a run are not there whole ({} of {}): is agent.journal the same for \
             all workers, and agent.journal_days longer than the run?",
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

fn written(steps: &[JournalEvent]) -> Result<String, StoreError> {
    serde_json::to_string(steps).map_err(|error| {
        let message = format!("a step of a run cannot be written as JSON: {error}");
        StoreError::new(StoreErrorKind::Refused, message)
    })
}
