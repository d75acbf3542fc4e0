//! The contract with journals: what a run did, step by step, so that another process can go on
//! where this one ended, and a person can decide in between.
//!
//! A run has one owner at a time. It holds a *claim* with a lease that it renews; whoever claims the
//! run next gets a higher epoch, and what the earlier owner still writes is refused. So two
//! processes never both believe that they go on with it, whatever their clocks say.

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

/// One step of a run, as it was written.
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

/// The right to write a run's steps, until somebody else claims it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim {
    /// How often the run was claimed.
    pub epoch: u64,
    /// Number of its last step.
    pub last: u64,
}

/// What a run is, for lists.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunHead {
    /// Its id.
    pub id: Arc<str>,
    /// What runs: `agent`, `script`.
    pub kind: Arc<str>,
    /// The agent, the prompt or the model.
    pub title: Arc<str>,
    /// Whose it is; only they see it.
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
    /// Where it stands.
    #[serde(default)]
    pub standing: RunSnapshot,
}

/// Which runs are listed: those of a scope, newest first.
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

/// A journal: memory, SQLite, Redis.
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

    /// Claims a run that nobody goes on with: its owner's lease is over, or it stands
    /// [`RunState::Ready`]. `None` if it is in other hands, waits, has ended or is not there.
    fn claim<'a>(
        &'a self,
        run: &'a str,
        lease: Duration,
    ) -> BoxFuture<'a, Result<Option<Claim>, StoreError>>;

    /// Renews the lease; `false` if somebody else has claimed the run.
    fn renew<'a>(
        &'a self,
        run: &'a str,
        epoch: u64,
        lease: Duration,
    ) -> BoxFuture<'a, Result<bool, StoreError>>;

    /// Adds steps, all or none, by the owner of this epoch; the number of the last. `standing` says
    /// where the run stands from now on; a run that does not go on is given back with it. The lease
    /// is not renewed. After `Unavailable` the steps may be there all the same: [`Journal::head`]
    /// says so. `Conflict` if somebody else has claimed it.
    fn append<'a>(
        &'a self,
        run: &'a str,
        epoch: u64,
        steps: &'a [JournalEvent],
        standing: &'a RunSnapshot,
    ) -> BoxFuture<'a, Result<u64, StoreError>>;

    /// Adds a step of somebody who does not own the run, such as a decision, if its last step is
    /// still number `last` and no owner goes on with it; else `false`.
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

    /// Forgets a run that has ended; `false` if there is none of that id. `Conflict` for one that
    /// has not.
    fn remove<'a>(&'a self, run: &'a str) -> BoxFuture<'a, Result<bool, StoreError>>;
}
