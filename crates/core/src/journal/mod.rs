//! Journals of durable runs: the recorded events from which another process resumes a run, and
//! pending approvals.
//!
//! A run has one owner at a time, which holds a *claim* with a lease and renews it. The next claim
//! gets a higher epoch, and writes with an older epoch are rejected. Two processes therefore never
//! both continue a run, even if their clocks differ.

mod decision;
mod step;

pub use decision::{Decision, DecisionError, DecisionInput};
pub use step::{
    ApprovalReason, JournalEvent, PendingApproval, RecordedFailure, RecordedOutput, RunSnapshot,
    RunState,
};

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::BoxFuture;
use crate::store::{Health, StoreError};

/// A recorded event of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JournalEntry {
    /// Number in the run, from 1, without gaps.
    pub number: u64,
    /// Time of the write, in milliseconds since 1970.
    pub at_ms: u64,
    /// The event.
    #[serde(flatten)]
    pub step: JournalEvent,
}

/// Permission to write the events of a run until another process claims it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Number of claims of the run so far, including this one.
    pub epoch: u64,
    /// Number of the last event.
    pub last: u64,
}

/// Metadata of a run, for lists.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunHead {
    /// Its id.
    pub id: Arc<str>,
    /// Kind: `agent`, `script`.
    pub kind: Arc<str>,
    /// Name of the agent, the prompt or the model.
    pub title: Arc<str>,
    /// Owner; only the owner sees the run.
    pub scope: Arc<str>,
    /// The run from which this run was forked, and the number of the last copied event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked: Option<(Arc<str>, u64)>,
    /// Creation time in milliseconds since 1970.
    pub created_ms: u64,
    /// Time of the last event.
    #[serde(default)]
    pub updated_ms: u64,
    /// Number of the last event.
    #[serde(default)]
    pub last: u64,
    /// Its current state.
    #[serde(default)]
    pub standing: RunSnapshot,
}

/// Filter for lists of runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunFilter {
    /// Owner; all owners if `None`.
    pub scope: Option<Arc<str>>,
    /// State; any state if `None`.
    pub state: Option<RunState>,
    /// Only runs created before this time, in milliseconds since 1970.
    pub before_ms: Option<u64>,
    /// Maximum number of results.
    pub most: usize,
}

/// Storage of durable runs, in memory, SQLite or Redis.
pub trait Journal: Send + Sync + fmt::Debug {
    /// Describes the store and its location, without secrets.
    fn describe(&self) -> String;

    /// Whether the store answers. If it does not, durable runs are rejected.
    fn health(&self) -> Health {
        Health::Ready
    }

    /// Writes the first events of a run and claims it. `Conflict` if the id exists.
    fn begin<'a>(
        &'a self,
        head: &'a RunHead,
        steps: &'a [JournalEvent],
        lease: Duration,
    ) -> BoxFuture<'a, Result<Claim, StoreError>>;

    /// Claims a run whose lease has expired or that is [`RunState::Ready`]. `None` if another
    /// process owns the run, or if the run is waiting, has ended or does not exist.
    fn claim<'a>(
        &'a self,
        run: &'a str,
        lease: Duration,
    ) -> BoxFuture<'a, Result<Option<Claim>, StoreError>>;

    /// Renews the lease; `false` if another process has claimed the run.
    fn renew<'a>(
        &'a self,
        run: &'a str,
        epoch: u64,
        lease: Duration,
    ) -> BoxFuture<'a, Result<bool, StoreError>>;

    /// Appends events of the owner with this epoch, all or none, and returns the number of the
    /// last. `standing` is the new state. A state that does not continue releases the run. The
    /// lease is not renewed. After `Unavailable` the events may have been stored; check
    /// [`Journal::head`]. `Conflict` if another process has claimed the run.
    fn append<'a>(
        &'a self,
        run: &'a str,
        epoch: u64,
        steps: &'a [JournalEvent],
        standing: &'a RunSnapshot,
    ) -> BoxFuture<'a, Result<u64, StoreError>>;

    /// Appends an event of another party, such as a decision. Succeeds if `last` is still the last
    /// event and the run has no active owner; otherwise returns `false`.
    fn interject<'a>(
        &'a self,
        run: &'a str,
        last: u64,
        step: &'a JournalEvent,
        standing: &'a RunSnapshot,
    ) -> BoxFuture<'a, Result<bool, StoreError>>;

    /// Returns the metadata of a run; `None` if it does not exist.
    fn head<'a>(&'a self, run: &'a str) -> BoxFuture<'a, Result<Option<RunHead>, StoreError>>;

    /// Returns at most `most` events after number `after`, in order.
    fn read<'a>(
        &'a self,
        run: &'a str,
        after: u64,
        most: usize,
    ) -> BoxFuture<'a, Result<Vec<JournalEntry>, StoreError>>;

    /// Lists runs, latest first.
    fn list<'a>(&'a self, filter: &'a RunFilter)
    -> BoxFuture<'a, Result<Vec<RunHead>, StoreError>>;

    /// Returns ids of runs that may be claimed, longest waiting first.
    fn abandoned(&self, most: usize) -> BoxFuture<'_, Result<Vec<Arc<str>>, StoreError>>;

    /// Deletes a run that has ended; `false` if it does not exist. `Conflict` if it has not ended.
    fn remove<'a>(&'a self, run: &'a str) -> BoxFuture<'a, Result<bool, StoreError>>;
}
