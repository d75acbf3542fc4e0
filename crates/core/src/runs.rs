//! Running answers, shared by replicas: admission, event logs and cancellation.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::BoxFuture;
use crate::store::{Health, StoreError};

/// One event of a run, as it went to the client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoggedEvent {
    /// Its number in the run, from 1, without gaps.
    pub sequence: u64,
    /// Name of the event.
    pub name: Arc<str>,
    /// JSON text of its payload.
    pub data: Arc<str>,
}

/// A page of the event log of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogPage {
    /// Events after the one that was asked for, in order.
    pub events: Vec<LoggedEvent>,
    /// Whether the run has ended and `events` reaches its end.
    pub ended: bool,
    /// Whether the run ended without its last event, because its process is gone. [`Runs::give_up`]
    /// must then write one, so no reader mistakes the end of the log for the end of an answer.
    pub lost: bool,
    /// Whether events were dropped between the one asked for and the first here.
    pub gap: bool,
}

/// Limits on the runs of one key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunAllowance {
    /// Runs at the same time; unlimited where `None`.
    pub concurrent: Option<u32>,
    /// Runs begun in a minute; unlimited where `None`.
    pub per_minute: Option<u32>,
}

/// Error: a run may not start.
#[derive(Clone, Debug, thiserror::Error)]
pub enum AdmissionDenied {
    /// Too many run already.
    #[error("too many concurrent runs for this key: {running} (limit {limit})")]
    Concurrent {
        /// How many run.
        running: u32,
        /// How many may.
        limit: u32,
    },
    /// Too many were begun.
    #[error("too many runs for this key: the limit is {limit} a minute")]
    Rate {
        /// How many may begin in a minute.
        limit: u32,
        /// When the next may.
        retry_after: Duration,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Permit of a running answer; dropping it frees the slot. A run without a permit counts as ended,
/// so drop it after the last append.
pub trait Permit: Send + Sync + fmt::Debug {}

/// Storage of runs shared by the replicas of a service: memory, or Redis.
pub trait Runs: Send + Sync + fmt::Debug {
    /// What and where it is, without secrets.
    fn describe(&self) -> String;

    /// Admits a run of this id for this key.
    fn admit<'a>(
        &'a self,
        key: &'a str,
        run: &'a str,
        allowance: RunAllowance,
    ) -> BoxFuture<'a, Result<Box<dyn Permit>, AdmissionDenied>>;

    /// Adds events to the log of a run, which is kept for a while and up to a size.
    /// The last call of a run says that it `ended`. `Refused` if the run was given up meanwhile.
    fn append<'a>(
        &'a self,
        run: &'a str,
        events: &'a [LoggedEvent],
        ended: bool,
    ) -> BoxFuture<'a, Result<(), StoreError>>;

    /// The events of a run after number `after`. Where there are none yet and the
    /// run goes on, waits for one, at most `wait`. `None` if no such run is known.
    fn read<'a>(
        &'a self,
        run: &'a str,
        after: u64,
        wait: Duration,
    ) -> BoxFuture<'a, Result<Option<LogPage>, StoreError>>;

    /// Writes the last event of a run that is lost, under the next number. Of many that notice, one
    /// writes: `false` if the run is not lost, or no longer.
    fn give_up<'a>(
        &'a self,
        run: &'a str,
        name: &'a str,
        data: &'a str,
    ) -> BoxFuture<'a, Result<bool, StoreError>>;

    /// Whether it answers. While it does not, no run is admitted.
    fn health(&self) -> Health {
        Health::Ready
    }

    /// Asks a run to stop, whichever replica runs it; `false` if none is on its way.
    fn cancel<'a>(&'a self, run: &'a str) -> BoxFuture<'a, Result<bool, StoreError>>;

    /// Completes when cancellation of this run was requested; otherwise never.
    fn cancelled<'a>(&'a self, run: &'a str) -> BoxFuture<'a, ()>;
}
