//! Where in a run something happens, so that it is known again when the run is made once more.
//!
//! What a script does one after the other is one lane, in which everything has its number. What it
//! does side by side (`$match` with `parallel`, calls of one turn of a model, promises of
//! JavaScript, functions in one template) are lanes of their own: which of them comes first differs
//! from run to run, and the numbers in each do not. Only runs whose calls are kept have lanes
//! ([`crate::host::Reach::Kept`]).

use std::collections::HashMap;
use std::future::Future;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::lock::lock;

tokio::task_local! {
    static CURRENT: Arc<CallSequence>;
}

/// Things that are done one after the other.
#[derive(Debug)]
pub(crate) struct CallSequence {
    path: String,
    next: AtomicU64,
    /// How often each name was given to a lane inside of this one.
    names: Mutex<HashMap<String, u64>>,
    /// Whether something was done here, or in a lane inside, that no earlier run had done.
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

/// The lane of a run.
pub(super) fn root() -> Arc<CallSequence> {
    CallSequence::new("0".to_owned(), None)
}

/// The lane that the caller is in.
pub(crate) fn current() -> Option<Arc<CallSequence>> {
    CURRENT.try_with(Arc::clone).ok()
}

/// A lane for one of several things that begin in the order of these calls.
pub(crate) fn child() -> Option<Arc<CallSequence>> {
    let around = current()?;
    let path = format!("{}.{}", around.path, around.number());
    Some(CallSequence::new(path, Some(around)))
}

/// A lane for one of several things that begin in any order, and are known by their names.
pub(crate) fn named(around: &Option<Arc<CallSequence>>, name: &str) -> Option<Arc<CallSequence>> {
    let around = around.clone()?;
    let mut names = lock(&around.names);
    let count = names.entry(name.to_owned()).or_default();
    *count += 1;
    let path = format!("{}/{name}:{count}", around.path);
    drop(names);
    Some(CallSequence::new(path, Some(around)))
}

/// Does something in a lane; where there is none, just does it.
pub(crate) async fn within<F: Future>(lane: Option<Arc<CallSequence>>, done: F) -> F::Output {
    match lane {
        Some(lane) => CURRENT.scope(lane, done).await,
        None => done.await,
    }
}

/// The place of what is done next: the same text when the run is made once more, and another for
/// everything else of the run. `None` outside of runs whose calls are kept.
#[must_use]
pub fn next_place() -> Option<String> {
    let lane = current()?;
    Some(format!("{}.{}", lane.path, lane.number()))
}

/// From here on the caller does what no earlier run has done.
pub fn go_live() {
    let mut lane = current();
    while let Some(this) = lane {
        this.live.store(true, Ordering::Release);
        lane = this.around.clone();
    }
}

/// Whether the caller does what no earlier run has done; `false` also outside of runs whose calls
/// are kept.
#[must_use]
pub fn is_live() -> bool {
    current().is_some_and(|lane| lane.live.load(Ordering::Acquire))
}

/// A number out of a place: FNV-1a, the same on every machine.
pub(super) fn digest(place: &str) -> u64 {
    place.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
