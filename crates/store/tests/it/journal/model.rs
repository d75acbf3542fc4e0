//! A minimal journal that the others are compared with.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use futures_util::FutureExt;
use quillet_core::BoxFuture;
use quillet_core::journal::{
    Claim, Journal, JournalEntry, JournalEvent, RunFilter, RunHead, RunSnapshot, RunState,
};
use quillet_core::store::{StoreError, StoreErrorKind};

/// Maximum number of events in a run.
pub(super) const MOST: usize = 12;

/// Runs in memory. A lease expires immediately or never.
#[derive(Debug, Default)]
pub(super) struct Model(Mutex<BTreeMap<String, Run>>);

#[derive(Debug, Default)]
struct Run {
    head: RunHead,
    epoch: u64,
    is_free: bool,
    steps: Vec<JournalEvent>,
}

type Answer<'a, T> = BoxFuture<'a, Result<T, StoreError>>;

fn answer<'a, T: Send + 'a>(result: Result<T, StoreError>) -> Answer<'a, T> {
    async { result }.boxed()
}

fn refused(kind: StoreErrorKind) -> StoreError {
    StoreError::new(kind, "")
}

impl Model {
    fn runs(&self, id: &str) -> Result<MutexGuard<'_, BTreeMap<String, Run>>, StoreError> {
        match id {
            "" => Err(refused(StoreErrorKind::Refused)),
            _ => Ok(self.0.lock().unwrap()),
        }
    }

    /// Returns the latest epoch and event number of a run.
    pub(super) fn latest(&self, id: &str) -> (u64, u64) {
        let runs = self.0.lock().unwrap();
        runs.get(id)
            .map_or((0, 0), |run| (run.epoch, run.head.last))
    }
}

impl Run {
    fn add(&mut self, steps: &[JournalEvent], standing: &RunSnapshot) -> Result<u64, StoreError> {
        let is_ended = standing.state == RunState::Ended;
        if !is_ended && self.steps.len() + steps.len() > MOST {
            return Err(refused(StoreErrorKind::Refused));
        }
        self.steps.extend_from_slice(steps);
        self.head.last = self.steps.len() as u64;
        if standing.state != self.head.standing.state {
            self.is_free = standing.state == RunState::Ready;
        }
        self.head.standing = standing.clone();
        Ok(self.head.last)
    }
}

impl Journal for Model {
    fn describe(&self) -> String {
        "model".to_owned()
    }

    fn begin<'a>(
        &'a self,
        head: &'a RunHead,
        steps: &'a [JournalEvent],
        lease: Duration,
    ) -> Answer<'a, Claim> {
        let begin = || {
            let mut runs = self.runs(&head.id)?;
            if runs.contains_key(&*head.id) {
                // Too many events are rejected before the id is checked.
                let kind = match steps.len() > MOST {
                    true => StoreErrorKind::Refused,
                    false => StoreErrorKind::Conflict,
                };
                return Err(refused(kind));
            }
            let mut run = Run {
                head: head.clone(),
                epoch: 1,
                is_free: lease.is_zero(),
                ..Run::default()
            };
            run.head.standing = RunSnapshot::at(RunState::Running);
            let last = run.add(steps, &RunSnapshot::at(RunState::Running))?;
            runs.insert(head.id.to_string(), run);
            Ok(Claim { epoch: 1, last })
        };
        answer(begin())
    }

    fn claim<'a>(&'a self, run: &'a str, lease: Duration) -> Answer<'a, Option<Claim>> {
        let claim = || {
            let mut runs = self.runs(run)?;
            let Some(run) = runs.get_mut(run).filter(|run| run.is_free) else {
                return Ok(None);
            };
            run.epoch += 1;
            run.is_free = lease.is_zero();
            run.head.standing.state = RunState::Running;
            Ok(Some(Claim {
                epoch: run.epoch,
                last: run.head.last,
            }))
        };
        answer(claim())
    }

    fn renew<'a>(&'a self, run: &'a str, epoch: u64, lease: Duration) -> Answer<'a, bool> {
        let renew = || {
            let mut runs = self.runs(run)?;
            let owned =
                |run: &&mut Run| run.epoch == epoch && run.head.standing.state == RunState::Running;
            let Some(run) = runs.get_mut(run).filter(owned) else {
                return Ok(false);
            };
            run.is_free = lease.is_zero();
            Ok(true)
        };
        answer(renew())
    }

    fn append<'a>(
        &'a self,
        run: &'a str,
        epoch: u64,
        steps: &'a [JournalEvent],
        standing: &'a RunSnapshot,
    ) -> Answer<'a, u64> {
        let append = || {
            let mut runs = self.runs(run)?;
            let owned =
                |run: &&mut Run| run.epoch == epoch && run.head.standing.state == RunState::Running;
            let run = runs.get_mut(run).filter(owned);
            let run = run.ok_or_else(|| refused(StoreErrorKind::Conflict))?;
            run.add(steps, standing)
        };
        answer(append())
    }

    fn interject<'a>(
        &'a self,
        run: &'a str,
        last: u64,
        step: &'a JournalEvent,
        standing: &'a RunSnapshot,
    ) -> Answer<'a, bool> {
        let interject = || {
            if standing.state == RunState::Running {
                return Err(refused(StoreErrorKind::Refused));
            }
            let mut runs = self.runs(run)?;
            let may = |run: &&mut Run| {
                let state = run.head.standing.state;
                run.head.last == last && (state == RunState::Waiting || state == RunState::Ready)
            };
            let Some(run) = runs.get_mut(run).filter(may) else {
                return Ok(false);
            };
            run.add(std::slice::from_ref(step), standing)?;
            Ok(true)
        };
        answer(interject())
    }

    fn head<'a>(&'a self, run: &'a str) -> Answer<'a, Option<RunHead>> {
        let runs = self.runs(run);
        answer(runs.map(|runs| runs.get(run).map(|run| run.head.clone())))
    }

    fn read<'a>(&'a self, run: &'a str, after: u64, most: usize) -> Answer<'a, Vec<JournalEntry>> {
        let read = |runs: MutexGuard<'_, BTreeMap<String, Run>>| {
            let steps = runs.get(run).map(|run| run.steps.clone());
            let entries = steps.unwrap_or_default().into_iter().zip(1..);
            let entries = entries.map(|(step, number)| JournalEntry {
                number,
                at_ms: 0,
                step,
            });
            let rest = entries.filter(|entry| entry.number > after);
            rest.take(most).collect()
        };
        answer(self.runs(run).map(read))
    }

    fn list<'a>(&'a self, filter: &'a RunFilter) -> Answer<'a, Vec<RunHead>> {
        let runs = self.0.lock().unwrap();
        let heads = runs.values().map(|run| run.head.clone());
        let mut heads: Vec<RunHead> = heads
            .filter(|head| {
                filter
                    .scope
                    .as_ref()
                    .is_none_or(|scope| *scope == head.scope)
                    && filter
                        .state
                        .is_none_or(|state| state == head.standing.state)
                    && filter
                        .before_ms
                        .is_none_or(|before| head.created_ms < before)
            })
            .collect();
        heads.sort_by_key(|head| std::cmp::Reverse((head.created_ms, head.id.clone())));
        heads.truncate(filter.most);
        answer(Ok(heads))
    }

    fn abandoned(&self, most: usize) -> Answer<'_, Vec<Arc<str>>> {
        let runs = self.0.lock().unwrap();
        let free = runs.values().filter(|run| run.is_free);
        answer(Ok(free.map(|run| run.head.id.clone()).take(most).collect()))
    }

    fn remove<'a>(&'a self, run: &'a str) -> Answer<'a, bool> {
        let remove = || {
            let mut runs = self.runs(run)?;
            match runs.get(run).map(|run| run.head.standing.state) {
                None => Ok(false),
                Some(RunState::Ended) => Ok(runs.remove(run).is_some()),
                Some(_) => Err(refused(StoreErrorKind::Conflict)),
            }
        };
        answer(remove())
    }
}
