//! Registry of runs: in memory for one process, in Redis for several.
//!
//! Both use the same rules. Permits hold the concurrency slots of a key. Its rate is counted over a
//! sliding window of one minute, so `retry_after` is exact. A log contains the newest events that
//! fit.

pub(crate) mod log;
mod memory;

use std::time::Duration;

use quillet_core::store::{StoreError, StoreErrorKind};

pub use memory::MemoryRuns;

/// Time window of `RunAllowance::per_minute`.
pub(crate) const MINUTE: Duration = Duration::from_secs(60);

/// Limits on the registry of runs.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// Maximum size of a run's log, including names and payloads; 1 MiB. Beyond this size, the
    /// oldest events are removed.
    pub max_log_bytes: usize,
    /// Maximum number of events in a run's log; 10,000. Beyond this number, the oldest events are
    /// removed.
    pub max_log_events: usize,
    /// How long the log of a run is stored after its end, or after its last event if the end is not
    /// reported; 10 min.
    pub keep: Duration,
    /// Maximum size of all logs in memory; 256 MiB. Beyond this size, the logs of the runs that
    /// ended first are removed.
    pub max_memory_bytes: usize,
    /// How long the slots of a dead replica remain occupied; 10 s. This option applies only to
    /// Redis. A replica renews its leases three times in this period. The runs of a dead replica
    /// are lost after another half of this period, during which a disconnected replica can still
    /// renew its leases.
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

/// Error for events after the last one.
pub(crate) fn given_up(run: &str) -> StoreError {
    let message =
        format!("run id {run:?}: the run was abandoned because its replica stopped responding");
    StoreError::new(StoreErrorKind::Refused, message)
}

/// Error for a run id that is already active, because two runs would write to one log.
pub(crate) fn already_running(run: &str) -> StoreError {
    let message = format!("run id {run:?}: a run with this id is in progress; choose another id");
    StoreError::new(StoreErrorKind::Refused, message)
}
