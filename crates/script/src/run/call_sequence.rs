//! Positions of calls in a run. A replay uses them to match each call with its recorded result.
//!
//! Sequential work is one sequence, in which each call has a number. Concurrent work (`$match` with
//! `parallel`, calls of one model turn, JavaScript promises, functions in one template) gets nested
//! sequences: the order between them differs from run to run, but the order within each does not.
//! Only durable runs have sequences.

use std::collections::HashMap;
use std::future::Future;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use quillet_core::lock::lock;

tokio::task_local! {
    // Task-local instead of a parameter, because calls also pass through templates and JavaScript.
    static CURRENT: Arc<CallSequence>;
}

/// A sequence of calls made one after the other.
#[derive(Debug)]
pub(crate) struct CallSequence {
    path: String,
    next: AtomicU64,
    /// How often each name was used for a nested sequence.
    names: Mutex<HashMap<String, u64>>,
    /// Whether this sequence or a nested one has passed the end of the journal.
    live: AtomicBool,
    around: Option<Arc<CallSequence>>,
}

impl CallSequence {
    fn new(path: String, around: Option<Arc<CallSequence>>) -> Arc<Self> {
        let live = around
            .as_ref()
            .is_some_and(|around| around.live.load(Ordering::Acquire));
        Arc::new(CallSequence {
            path,
            next: AtomicU64::new(0),
            names: Mutex::default(),
            live: AtomicBool::new(live),
            around,
        })
    }

    fn number(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }
}

/// Returns the outermost sequence of a run.
pub(super) fn root() -> Arc<CallSequence> {
    CallSequence::new("0".to_owned(), None)
}

/// Returns the sequence of the current task.
pub(crate) fn current() -> Option<Arc<CallSequence>> {
    CURRENT.try_with(Arc::clone).ok()
}

/// Returns a nested sequence for concurrent work that is started in a fixed order.
pub(crate) fn child() -> Option<Arc<CallSequence>> {
    let around = current()?;
    let path = format!("{}.{}", around.path, around.number());
    Some(CallSequence::new(path, Some(around)))
}

/// Returns a nested sequence for concurrent work that is started in any order; the name identifies
/// it.
pub(crate) fn named(around: &Option<Arc<CallSequence>>, name: &str) -> Option<Arc<CallSequence>> {
    let around = around.clone()?;
    let mut names = lock(&around.names);
    let count = names.entry(name.to_owned()).or_default();
    *count += 1;
    let path = format!("{}/{name}:{count}", around.path);
    // Ends the borrow of `around`, which moves into the new sequence.
    drop(names);
    Some(CallSequence::new(path, Some(around)))
}

/// Awaits a future within a sequence, or directly if there is none.
pub(crate) async fn within<F: Future>(lane: Option<Arc<CallSequence>>, done: F) -> F::Output {
    match lane {
        Some(lane) => CURRENT.scope(lane, done).await,
        None => done.await,
    }
}

/// Returns the position of the next call. The position is unique in the run and the same on a
/// replay. Returns `None` outside durable runs.
#[must_use]
pub fn next_place() -> Option<String> {
    let lane = current()?;
    Some(format!("{}.{}", lane.path, lane.number()))
}

/// Marks the current sequence and its parents as past the end of the journal.
pub fn go_live() {
    let mut lane = current();
    while let Some(this) = lane {
        // The parents are marked too, because everything after a live nested call is new work.
        this.live.store(true, Ordering::Release);
        lane = this.around.clone();
    }
}

/// Returns whether the current sequence is past the end of the journal. Outside durable runs, the
/// result is always `false`.
#[must_use]
pub fn is_live() -> bool {
    current().is_some_and(|lane| lane.live.load(Ordering::Acquire))
}

/// Hashes a position with FNV-1a, which gives the same number on every machine.
pub(super) fn digest(place: &str) -> u64 {
    place.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
