//! What replicas share about runs: in memory for one process, in Redis for many.
//!
//! Both count in the same way. A key's places are held by permits; its rate is a
//! window of the last minute, so `retry_after` is exact. A log keeps the newest
//! events that fit.

pub(crate) mod log;
mod memory;

use std::time::Duration;

use quillet_core::store::{StoreError, StoreErrorKind};

pub use memory::MemoryRuns;

/// What `RunAllowance::per_minute` counts over.
pub(crate) const MINUTE: Duration = Duration::from_secs(60);

/// Bounds of what is stored about runs.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// Most bytes of one run's log, names and payloads; 1 MiB. The oldest events make room.
    pub max_log_bytes: usize,
    /// Most events of one run's log; 10,000. The oldest make room.
    pub max_log_events: usize,
    /// How long the log of a run is kept after its end, or after its last event if
    /// nobody says that it ended; 10 min.
    pub keep: Duration,
    /// Most bytes of all logs in memory; 256 MiB. Runs that ended first make room.
    pub max_memory_bytes: usize,
    /// How long a replica that has died holds the places of its runs; 10 s. In
    /// Redis only; a living one renews its hold three times in that time. Its runs are
    /// given up after half of it more, in which one that was only cut off renews them.
    pub lease: Duration,
}

impl Default for RunOptions {
    fn default() -> Self {
        RunOptions {
            max_log_bytes: 1 << 20,
            max_log_events: 10_000,
            keep: Duration::from_secs(600),
            max_memory_bytes: 256 << 20,
            lease: Duration::from_secs(10),
        }
    }
}

/// A log that has its last event takes no more.
pub(crate) fn given_up(run: &str) -> StoreError {
    let message =
        format!("run id {run:?}: the run was abandoned because its replica stopped responding");
    StoreError::new(StoreErrorKind::Refused, message)
}

/// Two runs of one id would write into one log.
pub(crate) fn already_running(run: &str) -> StoreError {
    let message = format!("run id {run:?}: a run with this id is in progress, choose another id");
    StoreError::new(StoreErrorKind::Refused, message)
}
