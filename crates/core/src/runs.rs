//! Running answers, shared by replicas: admission, event logs and cancellation.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::BoxFuture;
use crate::store::{Health, StoreError};

/// One event of a run, as sent to the client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoggedEvent {
    /// Number in the run, from 1, without gaps.
    pub sequence: u64,
    /// Name of the event.
    pub name: Arc<str>,
    /// JSON text of its payload.
    pub data: Arc<str>,
}

/// A page of the event log of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogPage {
    /// Events after the requested number, in order.
    pub events: Vec<LoggedEvent>,
    /// Whether the run has ended and `events` includes its last event.
    pub ended: bool,
    /// Whether the process of the run stopped without writing the last event. [`Runs::give_up`]
    /// must then write a last event, so that readers do not mistake the end of the log for the end
    /// of an answer.
    pub lost: bool,
    /// Whether events between the requested number and the first event of this page were dropped.
    pub gap: bool,
}

/// Limits on the runs of one key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunAllowance {
    /// Maximum concurrent runs; unlimited if `None`.
    pub concurrent: Option<u32>,
    /// Maximum runs started per minute; unlimited if `None`.
    pub per_minute: Option<u32>,
}

/// Error of a run that is not admitted.
#[derive(Clone, Debug, thiserror::Error)]
pub enum AdmissionDenied {
    /// Too many concurrent runs.
    #[error("too many concurrent runs for this key: {running} (limit {limit})")]
    Concurrent {
        /// Number of running runs.
        running: u32,
        /// The limit.
        limit: u32,
    },
    /// Too many runs were started within a minute.
    #[error("too many runs for this key: the limit is {limit} a minute")]
    Rate {
        /// The limit per minute.
        limit: u32,
        /// Time until the next run may start.
        retry_after: Duration,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Permit of a running answer. Dropping it frees the slot. A run without a permit counts as ended,
/// so drop the permit after the last append.
pub trait Permit: Send + Sync + fmt::Debug {}

/// Storage of runs shared by the replicas of a service: memory, or Redis.
pub trait Runs: Send + Sync + fmt::Debug {
    /// Describes the store and its location, without secrets.
    fn describe(&self) -> String;

    /// Admits a run with this id for this key.
    fn admit<'a>(
        &'a self,
        key: &'a str,
        run: &'a str,
        allowance: RunAllowance,
    ) -> BoxFuture<'a, Result<Box<dyn Permit>, AdmissionDenied>>;

    /// Appends events to the log of a run, which is stored for a limited time and up to a limited
    /// size. The last call of a run sets `ended`. `Refused` if the run was given up in the
    /// meantime.
    fn append<'a>(
        &'a self,
        run: &'a str,
        events: &'a [LoggedEvent],
        ended: bool,
    ) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Returns the events of a run after number `after`. If there are none yet and the run
    /// continues, waits for one, at most `wait`. `None` if the run is unknown.
    fn read<'a>(
        &'a self,
        run: &'a str,
        after: u64,
        wait: Duration,
    ) -> BoxFuture<'a, Result<Option<LogPage>, StoreError>>;

    /// Writes the last event of a lost run, under the next number. If several readers notice the
    /// loss, only one writes it: `false` if the run is not, or no longer, lost.
    fn give_up<'a>(
        &'a self,
        run: &'a str,
        name: &'a str,
        data: &'a str,
    ) -> BoxFuture<'a, Result<bool, StoreError>>;

    /// Whether the store answers. If it does not, runs are rejected.
    fn health(&self) -> Health {
        Health::Ready
    }

    /// Requests that a run stop, on whichever replica it runs; `false` if it is not in progress.
    fn cancel<'a>(&'a self, run: &'a str) -> BoxFuture<'a, Result<bool, StoreError>>;

    /// Completes when cancellation of this run is requested; otherwise stays pending.
    fn cancelled<'a>(&'a self, run: &'a str) -> BoxFuture<'a, ()>;
}
