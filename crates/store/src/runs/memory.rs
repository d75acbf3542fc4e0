//! In-memory registry of runs, for one process.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::FutureExt;
use quillet_core::BoxFuture;
use quillet_core::lock::lock;
use quillet_core::runs::{AdmissionDenied, LogPage, LoggedEvent, Permit, RunAllowance, Runs};
use quillet_core::store::StoreError;
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

use super::log::EventLog;
use super::{MINUTE, RunOptions, already_running};
use crate::ids;

/// Interval of removing expired data.
// Sweeping visits all runs, so it must not happen with each call.
const SWEEP: Duration = Duration::from_secs(1);

/// In-memory registry of runs.
///
/// # Examples
///
/// ```
/// use quillet_core::runs::{AdmissionDenied, RunAllowance, Runs};
/// use quillet_store::{MemoryRuns, RunOptions};
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let runs = MemoryRuns::new(RunOptions::default());
/// let allowance = RunAllowance { concurrent: Some(1), per_minute: None };
/// let permit = runs.admit("ci", "run-1", allowance).await?;
/// assert!(runs.admit("ci", "run-2", allowance).await.is_err());
/// drop(permit);
/// assert!(runs.admit("ci", "run-2", allowance).await.is_ok());
/// # Ok::<(), AdmissionDenied>(())
/// # }).unwrap();
/// ```
#[derive(Debug, Default)]
pub struct MemoryRuns {
    options: RunOptions,
    known: Arc<Mutex<RunRegistry>>,
}

#[derive(Debug, Default)]
struct RunRegistry {
    keys: HashMap<String, KeyUsage>,
    runs: HashMap<String, RunEntry>,
    /// Ended runs in the order of their ends.
    ended: VecDeque<String>,
    bytes: usize,
    swept: Option<Instant>,
}

/// Active and recent runs of a key.
#[derive(Debug, Default)]
struct KeyUsage {
    running: HashSet<String>,
    /// Starts of runs in the last minute.
    begun: VecDeque<Instant>,
}

#[derive(Debug)]
struct RunEntry {
    log: EventLog,
    /// Whether the permit of the run still exists.
    held: bool,
    ended: bool,
    /// Whether the last event is in the log.
    told: bool,
    cancelled: bool,
    touched: Instant,
    /// Notified of every change.
    bell: watch::Sender<()>,
}

impl MemoryRuns {
    /// Creates an empty registry.
    #[must_use]
    pub fn new(options: RunOptions) -> Self {
        MemoryRuns {
            options,
            known: Arc::default(),
        }
    }

    fn with<T>(&self, work: impl FnOnce(&mut RunRegistry) -> T) -> T {
        locked(&self.known, |known| {
            known.sweep(self.options.keep);
            work(known)
        })
    }

    fn begin(
        &self,
        key: &str,
        run: &str,
        allowance: RunAllowance,
    ) -> Result<RunPermit, AdmissionDenied> {
        let (key, run) = (ids::checked("key", key)?, ids::checked("run", run)?);
        self.with(|known| {
            if known.runs.get(run).is_some_and(|run| !run.ended) {
                return Err(AdmissionDenied::from(already_running(run)));
            }
            known
                .keys
                .entry(key.to_owned())
                .or_default()
                // This is checked before the old log of this id is deleted, so a rejected request
                // changes nothing.
                .begin(run, allowance)?;
            known.forget(run);
            known.runs.insert(run.to_owned(), RunEntry::new(true));
            Ok(())
        })?;
        Ok(RunPermit {
            known: self.known.clone(),
            key: key.to_owned(),
            run: run.to_owned(),
        })
    }

    fn add(&self, run: &str, events: &[LoggedEvent], ended: bool) -> Result<(), StoreError> {
        let id = ids::checked("run", run)?;
        self.with(|known| {
            let given_up = known.runs.get(id).is_some_and(|run| {
                let is_new = |event: &LoggedEvent| event.sequence > run.log.last();
                // Repeating the last append is allowed, because its first response may have been
                // lost.
                run.told && (!ended || events.iter().any(is_new))
            });
            if given_up {
                return Err(super::given_up(id));
            }
            let run = known
                .runs
                .entry(id.to_owned())
                .or_insert_with(|| RunEntry::new(false));
            let before = run.log.bytes();
            run.log.add(events, &self.options);
            known.bytes = known.bytes - before + run.log.bytes();
            run.touched = Instant::now();
            run.told |= ended;
            run.bell.send_replace(());
            if ended {
                known.end(id);
            }
            // Room is made after the new events are added. Only ended runs are removed, so an
            // active run may exceed the limit.
            known.make_room(self.options.max_memory_bytes);
            Ok(())
        })
    }

    fn write_last_event(&self, run: &str, name: &str, data: &str) -> bool {
        self.with(|known| {
            let lost = known.runs.get_mut(run).filter(|run| run.is_lost());
            let Some(lost) = lost else { return false };
            let last = LoggedEvent {
                sequence: lost.log.last() + 1,
                name: name.into(),
                data: data.into(),
            };
            let before = lost.log.bytes();
            lost.log.add(&[last], &self.options);
            lost.told = true;
            known.bytes = known.bytes - before + lost.log.bytes();
            lost.bell.send_replace(());
            true
        })
    }

    /// Returns the events after a number, and a receiver for further changes.
    fn look(&self, run: &str, after: u64) -> Option<(LogPage, watch::Receiver<()>)> {
        self.with(|known| {
            let run = known.runs.get(run)?;
            // An ended run without a log has nothing to read.
            if run.is_lost() && run.log.last() == 0 {
                return None;
            }
            let page = LogPage {
                lost: run.is_lost(),
                ..run.log.after(after, run.ended)
            };
            Some((page, run.bell.subscribe()))
        })
    }

    async fn page(&self, run: &str, after: u64, wait: Duration) -> Option<LogPage> {
        let until = Instant::now() + wait;
        loop {
            let (page, mut bell) = self.look(run, after)?;
            let ready = page.ended || !page.events.is_empty();
            // The receiver was created while holding the same lock as the page, so no change is
            // missed.
            if ready || timeout_at(until, bell.changed()).await.is_err() {
                return Some(page);
            }
        }
    }

    fn stop(&self, run: &str) -> bool {
        self.with(|known| {
            let going = known.runs.get_mut(run).filter(|run| !run.ended);
            let Some(run) = going else { return false };
            run.cancelled = true;
            run.bell.send_replace(());
            true
        })
    }

    /// Returns whether a run is cancelled, and a receiver for changes.
    fn stopped(&self, run: &str) -> Option<(bool, watch::Receiver<()>)> {
        self.with(|known| {
            let run = known.runs.get(run)?;
            Some((run.cancelled, run.bell.subscribe()))
        })
    }
}

/// No method panics while it holds the lock, so a poisoned lock is still consistent.
fn locked<T>(known: &Mutex<RunRegistry>, work: impl FnOnce(&mut RunRegistry) -> T) -> T {
    work(&mut lock(known))
}

impl RunEntry {
    fn new(held: bool) -> Self {
        RunEntry {
            log: EventLog::default(),
            held,
            ended: false,
            told: false,
            cancelled: false,
            touched: Instant::now(),
            bell: watch::Sender::new(()),
        }
    }
}

impl RunEntry {
    /// Whether the run has ended without its last event.
    fn is_lost(&self) -> bool {
        self.ended && !self.told
    }
}

impl KeyUsage {
    fn begin(&mut self, run: &str, allowance: RunAllowance) -> Result<(), AdmissionDenied> {
        let now = Instant::now();
        self.forget_before(now);
        let running = u32::try_from(self.running.len()).unwrap_or(u32::MAX);
        if let Some(limit) = allowance.concurrent.filter(|limit| running >= *limit) {
            return Err(AdmissionDenied::Concurrent { running, limit });
        }
        if let Some(limit) = allowance.per_minute {
            self.check_rate(limit, now)?;
            self.begun.push_back(now);
        }
        self.running.insert(run.to_owned());
        Ok(())
    }

    /// Checks the rate limit. A start is allowed when the oldest of the last `limit` starts is a
    /// minute ago.
    fn check_rate(&self, limit: u32, now: Instant) -> Result<(), AdmissionDenied> {
        let Some(over) = self.begun.len().checked_sub(limit as usize) else {
            return Ok(());
        };
        let retry_after = match self.begun.get(over) {
            Some(oldest) => (*oldest + MINUTE).saturating_duration_since(now),
            None => MINUTE,
        };
        Err(AdmissionDenied::Rate { limit, retry_after })
    }

    fn forget_before(&mut self, now: Instant) {
        let old = |at: &Instant| now.duration_since(*at) >= MINUTE;
        let count = self.begun.partition_point(old);
        self.begun.drain(..count);
    }
}

impl RunRegistry {
    /// Periodically removes inactive keys and expired runs.
    fn sweep(&mut self, keep: Duration) {
        let now = Instant::now();
        if self.swept.is_some_and(|at| now.duration_since(at) < SWEEP) {
            return;
        }
        self.swept = Some(now);
        self.keys.retain(|_, used| {
            used.forget_before(now);
            !used.running.is_empty() || !used.begun.is_empty()
        });
        let over = |run: &RunEntry| !run.held && now.duration_since(run.touched) >= keep;
        let old = self.runs.extract_if(|_, run| over(run));
        self.bytes -= old.map(|(_, run)| run.log.bytes()).sum::<usize>();
        // Prevents the queue from growing with the ids of removed runs.
        self.ended.retain(|id| self.runs.contains_key(id));
    }

    fn forget(&mut self, id: &str) {
        if let Some(run) = self.runs.remove(id) {
            self.bytes -= run.log.bytes();
        }
    }

    fn make_room(&mut self, most: usize) {
        while self.bytes > most {
            let Some(id) = self.ended.pop_front() else {
                return;
            };
            if self.runs.get(&id).is_some_and(|run| run.ended) {
                self.forget(&id);
            }
        }
    }

    fn end(&mut self, id: &str) {
        let Some(run) = self.runs.get_mut(id).filter(|run| !run.ended) else {
            return;
        };
        run.ended = true;
        run.touched = Instant::now();
        run.bell.send_replace(());
        self.ended.push_back(id.to_owned());
    }
}

/// A concurrency slot of a key.
#[derive(Debug)]
struct RunPermit {
    known: Arc<Mutex<RunRegistry>>,
    key: String,
    run: String,
}

impl Permit for RunPermit {}

/// A run without a permit has ended, whether or not its last events were written. Otherwise its
/// readers would wait forever.
impl Drop for RunPermit {
    fn drop(&mut self) {
        locked(&self.known, |known| {
            if let Some(used) = known.keys.get_mut(&self.key) {
                used.running.remove(&self.run);
            }
            if let Some(run) = known.runs.get_mut(&self.run) {
                run.held = false;
            }
            known.end(&self.run);
        });
    }
}

impl Runs for MemoryRuns {
    fn describe(&self) -> String {
        "memory".to_owned()
    }

    fn admit<'a>(
        &'a self,
        key: &'a str,
        run: &'a str,
        allowance: RunAllowance,
    ) -> BoxFuture<'a, Result<Box<dyn Permit>, AdmissionDenied>> {
        async move {
            let held = self.begin(key, run, allowance)?;
            Ok(Box::new(held) as Box<dyn Permit>)
        }
        .boxed()
    }

    fn append<'a>(
        &'a self,
        run: &'a str,
        events: &'a [LoggedEvent],
        ended: bool,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        async move { self.add(run, events, ended) }.boxed()
    }

    fn read<'a>(
        &'a self,
        run: &'a str,
        after: u64,
        wait: Duration,
    ) -> BoxFuture<'a, Result<Option<LogPage>, StoreError>> {
        async move { Ok(self.page(ids::checked("run", run)?, after, wait).await) }.boxed()
    }

    fn give_up<'a>(
        &'a self,
        run: &'a str,
        name: &'a str,
        data: &'a str,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        async move { Ok(self.write_last_event(ids::checked("run", run)?, name, data)) }.boxed()
    }

    fn cancel<'a>(&'a self, run: &'a str) -> BoxFuture<'a, Result<bool, StoreError>> {
        async move { Ok(self.stop(ids::checked("run", run)?)) }.boxed()
    }

    fn cancelled<'a>(&'a self, run: &'a str) -> BoxFuture<'a, ()> {
        async move {
            while let Some((stopped, mut bell)) = self.stopped(run) {
                if stopped {
                    return;
                }
                // An error means that the run was removed, which the next read reports.
                let _ = bell.changed().await;
            }
            std::future::pending().await
        }
        .boxed()
    }
}
