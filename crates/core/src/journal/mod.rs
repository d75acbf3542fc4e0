//! Journals of durable runs: the recorded steps from which another process resumes a run, and
//! approvals in between.
//!
//! A run has one owner at a time, which holds a *claim* with a lease and renews it. The next claim
//! gets a higher epoch, and writes with an older epoch are rejected. So two processes never both
//! continue a run, whatever their clocks show.

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

/// A recorded step of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JournalEntry {
    /// Its number in the run, from 1, without gaps.
    pub number: u64,
    /// When it was written, in milliseconds since 1970.
    pub at_ms: u64,
    /// What happened.
    #[serde(flatten)]
    pub step: JournalEvent,
}

/// Permission to write the steps of a run until another process claims it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim {
    /// How often the run was claimed.
    pub epoch: u64,
    /// Number of its last step.
    pub last: u64,
}

/// Metadata of a run, for lists.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunHead {
    /// Its id.
    pub id: Arc<str>,
    /// What runs: `agent`, `script`.
    pub kind: Arc<str>,
    /// The agent, the prompt or the model.
    pub title: Arc<str>,
    /// The owner, who alone sees the run.
    pub scope: Arc<str>,
    /// The run that this one was forked from, and the number of the last step that it has of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked: Option<(Arc<str>, u64)>,
    /// When it was accepted, in milliseconds since 1970.
    pub created_ms: u64,
    /// When its last step was written.
    #[serde(default)]
    pub updated_ms: u64,
    /// Number of its last step.
    #[serde(default)]
    pub last: u64,
    /// Its current state.
    #[serde(default)]
    pub standing: RunSnapshot,
}

/// Filter for lists of runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunFilter {
    /// Whose; everybody's where `None`.
    pub scope: Option<Arc<str>>,
    /// In which state; in any where `None`.
    pub state: Option<RunState>,
    /// Accepted before this time, in milliseconds since 1970.
    pub before_ms: Option<u64>,
    /// At most so many.
    pub most: usize,
}

/// Storage of durable runs: memory, SQLite, Redis.
pub trait Journal: Send + Sync + fmt::Debug {
    /// What and where it is, without secrets.
    fn describe(&self) -> String;

    /// Whether it answers. While it does not, no durable run is accepted.
    fn health(&self) -> Health {
        Health::Ready
    }

    /// Writes the first steps of a run, and claims it. `Conflict` if there is one of that id.
    fn begin<'a>(
        &'a self,
        head: &'a RunHead,
        steps: &'a [JournalEvent],
        lease: Duration,
    ) -> BoxFuture<'a, Result<Claim, StoreError>>;

    /// Claims a run whose lease has expired or that is [`RunState::Ready`]. `None` if another
    /// process owns it, or it waits, has ended or does not exist.
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

    /// Adds steps of the owner of this epoch, all or none, and returns the number of the last.
    /// `standing` is the new state; a run that does not continue is released by it. The lease is
    /// not renewed. After `Unavailable` the steps may have been stored; check [`Journal::head`].
    /// `Conflict` if another process has claimed the run.
    fn append<'a>(
        &'a self,
        run: &'a str,
        epoch: u64,
        steps: &'a [JournalEvent],
        standing: &'a RunSnapshot,
    ) -> BoxFuture<'a, Result<u64, StoreError>>;

    /// Adds a step on behalf of another party, such as a decision, if the last step is still number
    /// `last` and no owner continues the run; otherwise `false`.
    fn interject<'a>(
        &'a self,
        run: &'a str,
        last: u64,
        step: &'a JournalEvent,
        standing: &'a RunSnapshot,
    ) -> BoxFuture<'a, Result<bool, StoreError>>;

    /// What the run is; `None` if there is none of that id.
    fn head<'a>(&'a self, run: &'a str) -> BoxFuture<'a, Result<Option<RunHead>, StoreError>>;

    /// The steps after number `after`, in order, at most `most`.
    fn read<'a>(
        &'a self,
        run: &'a str,
        after: u64,
        most: usize,
    ) -> BoxFuture<'a, Result<Vec<JournalEntry>, StoreError>>;

    /// Runs, the latest first.
    fn list<'a>(&'a self, filter: &'a RunFilter)
    -> BoxFuture<'a, Result<Vec<RunHead>, StoreError>>;

    /// Ids of runs that may be claimed, those that wait longest first.
    fn abandoned(&self, most: usize) -> BoxFuture<'_, Result<Vec<Arc<str>>, StoreError>>;

    /// Deletes a run that has ended; `false` if it does not exist. `Conflict` if it has not ended.
    fn remove<'a>(&'a self, run: &'a str) -> BoxFuture<'a, Result<bool, StoreError>>;
}
