//! Resumes runs whose process has stopped, or whose approvals have been decided. [`super`]
//! describes the replay; [`super::approval`] handles tool calls that were in flight.

use std::sync::Arc;
use std::time::Duration;

use quillet_core::chat::ChatEvent;
use quillet_core::clock;
use quillet_core::journal::{Decision, Journal, JournalEntry, JournalEvent, RunFilter, RunState};
use quillet_core::runs::RunAllowance;
use quillet_core::store::{StoreError, StoreErrorKind};
use serde::de::DeserializeOwned;

use super::request::is_ours;
use super::{Admission, RunJournal};
use crate::agent::running::{PriorUsage, ResumedRun};
use crate::agent::service::RunPermits;
use crate::agent::{AgentService, RunHandle};

/// Interval between polls for abandoned runs.
const LOOK: Duration = Duration::from_secs(1);
/// Number of polls between two checks for expired approvals.
const EXPIRY_LOOKS: u32 = 15;
/// Maximum number of runs per poll.
const MOST: usize = 64;
/// Number of events per read.
const PAGE: usize = 500;

impl AgentService {
    /// Resumes abandoned runs until the service ends. Each run is passed to `go`, which must read
    /// its events. Does nothing without a journal.
    pub async fn watch(self: Arc<Self>, go: impl Fn(RunHandle) + Send + Sync) {
        let Some(journal) = self.parts.journal.clone() else {
            return;
        };
        let mut looks = 0;
        loop {
            let _ = tokio::time::timeout(LOOK, self.wake.notified()).await;
            if self.tasks.is_closed() {
                return;
            }
            looks += 1;
            if looks % EXPIRY_LOOKS == 0
                && let Err(error) = expire(&*journal).await
            {
                tracing::debug!(%error, "cannot look for expired approvals");
            }
            let abandoned = match journal.abandoned(MOST).await {
                Ok(abandoned) => abandoned,
                Err(error) => {
                    tracing::debug!(%error, "cannot look for abandoned runs");
                    continue;
                }
            };
            for run in abandoned {
                match self.resume_run(&run).await {
                    Ok(Some(running)) => go(running),
                    // Another process was faster, or no permit is free; the next poll finds the run
                    // again.
                    Ok(None) => {}
                    Err(error) => {
                        tracing::warn!(run = &*run, %error, "cannot resume a run");
                    }
                }
            }
        }
    }

    /// Acquires the lease of a run by its full id and prepares the run. `None` if another process
    /// has the lease, or if the run is waiting for approval or has ended.
    ///
    /// # Errors
    /// The journal does not answer, or the run cannot be resumed from it.
    pub async fn resume_run(self: &Arc<Self>, run: &str) -> Result<Option<RunHandle>, StoreError> {
        let Some(journal) = self.parts.journal.clone() else {
            return Ok(None);
        };
        let Ok(place) = self.places().try_acquire_owned() else {
            return Ok(None);
        };
        let head = journal.head(run).await?;
        let Some(head) = head.filter(|head| is_ours(&head.kind)) else {
            return Ok(None);
        };
        // Another replica may still own the event log, from which readers learn about the new
        // owner.
        let permit = self
            .parts
            .runs
            .admit(&head.scope, run, RunAllowance::default());
        let Ok(permit) = permit.await else {
            return Ok(None);
        };
        let Some(claim) = journal.claim(run, self.options.lease).await? else {
            return Ok(None);
        };
        let entries = all(&*journal, run, None).await?;
        let admission = admission(run, entries.first().map(|entry| &entry.step))?;
        let setup = prepared(entries.iter().map(|entry| &entry.step));
        let script = prepared(entries.iter().map(|entry| &entry.step));
        let before = before(&entries);
        let stop = tokio_util::sync::CancellationToken::new();
        let book = RunJournal::open(
            journal,
            run.into(),
            claim,
            self.options.lease,
            entries,
            &stop,
        );
        if head.standing.state == RunState::Running {
            let by = JournalEvent::TakenOver {
                by: process().into(),
            };
            book.write(by).await?;
            tracing::info!(run, "resuming a run whose process is gone");
        }
        let resumed = ResumedRun {
            book,
            setup,
            script,
            epoch: claim.epoch,
            is_known: true,
            before,
        };
        let places = RunPermits::new(place, permit);
        Ok(Some(RunHandle::resumed(
            self.clone(),
            admission,
            resumed,
            stop,
            Some(places),
        )))
    }
}

/// Reads all events of a run, or the first `limit`.
pub(in crate::agent) async fn all(
    journal: &dyn Journal,
    run: &str,
    most: Option<u64>,
) -> Result<Vec<JournalEntry>, StoreError> {
    let most = most.map_or(usize::MAX, |most| {
        usize::try_from(most).unwrap_or(usize::MAX)
    });
    let mut entries = Vec::new();
    loop {
        let after = entries
            .last()
            .map_or(0, |entry: &JournalEntry| entry.number);
        let wanted = PAGE.min(most.saturating_sub(entries.len()));
        let page = journal.read(run, after, wanted).await?;
        let is_last = page.len() < PAGE;
        entries.extend(page);
        if is_last || entries.len() >= most {
            return Ok(entries);
        }
    }
}

/// Usage and running time of the run up to its last event.
fn before(entries: &[JournalEntry]) -> PriorUsage {
    let mut before = PriorUsage::default();
    let mut last: Option<&JournalEntry> = None;
    for entry in entries {
        if let JournalEvent::Answered { events, .. } = &entry.step {
            let usage = events.iter().rev().find_map(|event| match event {
                ChatEvent::Usage(usage) => Some(*usage),
                _ => None,
            });
            before.usage.extend(usage);
        }
        let waited = |last: &JournalEntry| {
            matches!(
                last.step,
                JournalEvent::Parked { .. } | JournalEvent::Decided { .. }
            )
        };
        let was_dead = matches!(entry.step, JournalEvent::TakenOver { .. });
        if let Some(last) = last.filter(|last| !waited(last) && !was_dead) {
            let time = entry.at_ms.saturating_sub(last.at_ms);
            before.time += Duration::from_millis(time);
        }
        last = Some(entry);
    }
    before
}

/// Returns the recorded request.
pub(super) fn admission(run: &str, first: Option<&JournalEvent>) -> Result<Admission, StoreError> {
    let corrupt = |why: String| {
        let message = format!("cannot resume run {run:?} from its journal: {why}");
        StoreError::new(StoreErrorKind::Corrupt, message)
    };
    match first {
        Some(JournalEvent::Admitted { request }) => serde_json::from_value(request.clone())
            .map_err(|error| {
                corrupt(format!(
                    "the recorded request is from another version: \
                {error}"
                ))
            }),
        _ => Err(corrupt(
            "the journal does not begin with a request".to_owned(),
        )),
    }
}

/// Returns the recorded setup, if any.
pub(super) fn prepared<'a, S: DeserializeOwned>(
    mut steps: impl Iterator<Item = &'a JournalEvent>,
) -> Option<S> {
    steps.find_map(|step| match step {
        JournalEvent::Prepared { setup } => serde_json::from_value(setup.clone()).ok(),
        _ => None,
    })
}

/// Denies approvals that have expired.
async fn expire(journal: &dyn Journal) -> Result<(), StoreError> {
    let filter = RunFilter {
        state: Some(RunState::Waiting),
        most: 1_000,
        ..RunFilter::default()
    };
    let now = clock::millis();
    for head in journal.list(&filter).await? {
        let expired = head.standing.waiting.iter();
        let expired = expired.filter(|waiting| waiting.expires_ms.is_some_and(|at| at <= now));
        for waiting in expired.cloned().collect::<Vec<_>>() {
            let decision = Decision::Deny {
                note: Some(
                    "The call was not made: its approval expired without a decision.".to_owned(),
                ),
            };
            let late = super::decide::interject(journal, &head.id, &waiting.call, decision, "time");
            if let Err(error) = late.await {
                tracing::debug!(run = &*head.id, %error, "cannot deny an expired approval");
            }
        }
    }
    Ok(())
}

/// Readable name of this process.
fn process() -> String {
    format!("process {}", std::process::id())
}

#[cfg(test)]
mod tests {
    use quillet_core::chat::Usage;

    use super::*;

    #[test]
    fn time_in_which_a_run_waits_is_not_the_runs() {
        let usage = Usage {
            input_tokens: 7,
            output_tokens: 3,
            ..Usage::default()
        };
        let answered = |turn| JournalEvent::Answered {
            turn,
            events: vec![ChatEvent::Usage(Usage::default()), ChatEvent::Usage(usage)],
        };
        let steps = [
            (1_000, JournalEvent::Admitted { request: ().into() }),
            (1_500, answered(1)),
            (1_600, JournalEvent::Parked { waiting: vec![] }),
            (
                90_000,
                JournalEvent::Decided {
                    call: "c".into(),
                    decision: Decision::Deny { note: None },
                    by: "ada".into(),
                },
            ),
            (
                91_000,
                JournalEvent::Asked {
                    turn: 2,
                    digest: String::new(),
                    place: None,
                },
            ),
            (92_000, answered(2)),
            (500_000, JournalEvent::TakenOver { by: "two".into() }),
            (500_250, answered(3)),
        ];
        let entries = steps
            .into_iter()
            .zip(1..)
            .map(|((at_ms, step), number)| JournalEntry {
                number,
                at_ms,
                step,
            });
        let before = before(&entries.collect::<Vec<_>>());
        assert_eq!(before.time, Duration::from_millis(500 + 100 + 1_000 + 250));
        assert_eq!(before.usage, [usage; 3]);
    }
}
