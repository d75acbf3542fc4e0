//! Batches: files with many requests, whose rows are distributed over workers.
//!
//! A file is a list of chunks, numbered by their first line, so reading or writing it takes the
//! memory of one chunk only. A *unit* of a batch is one chunk of its input. A worker owns it while
//! it renews its lease. The result of a row is a chunk of the batch's output or error file, under
//! the row's number. Each row has at most one result, even if several workers write it, and results
//! are stored before their unit counts as done.

mod cut;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::BoxFuture;
use crate::store::StoreError;

pub use cut::{LongLine, RowSplitter, lines};

/// Metadata of a file. Times are seconds since 1970.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileInfo {
    /// File id: `file-…`.
    pub id: String,
    /// Owner; only the owner may see the file.
    pub owner: String,
    /// File name given by the owner.
    pub name: String,
    /// Purpose: `batch`, `batch_output`.
    pub purpose: String,
    /// Bytes of all chunks.
    pub bytes: u64,
    /// Creation time.
    pub created: u64,
    /// Expiry time.
    pub expires: u64,
}

/// A chunk of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileChunk {
    /// Number of its first line, from 1.
    pub number: u64,
    /// Complete lines.
    pub bytes: Vec<u8>,
}

/// A page of file chunks, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileChunkPage {
    /// The chunks.
    pub pieces: Vec<FileChunk>,
    /// Line number of the next page; `None` at the end of the file.
    pub next: Option<u64>,
}

/// Status of a batch. The names are OpenAI's, except for [`Status::Expiring`], which clients see as
/// `finalizing`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// The input is being checked.
    Validating,
    /// The input is invalid.
    Failed,
    /// Workers are processing its rows.
    InProgress,
    /// All rows are done.
    Finalizing,
    /// Its deadline has passed; the remaining rows get an error.
    Expiring,
    /// Complete; the result files can be read.
    Completed,
    /// Its deadline passed before all rows were done.
    Expired,
    /// Cancellation was requested.
    Cancelling,
    /// Cancelled before all rows were done.
    Cancelled,
}

impl Status {
    /// All statuses.
    pub const ALL: [Status; 9] = [
        Status::Validating,
        Status::Failed,
        Status::InProgress,
        Status::Finalizing,
        Status::Expiring,
        Status::Completed,
        Status::Expired,
        Status::Cancelling,
        Status::Cancelled,
    ];

    /// Returns the name used in stores.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Status::Validating => "validating",
            Status::Failed => "failed",
            Status::InProgress => "in_progress",
            Status::Finalizing => "finalizing",
            Status::Expiring => "expiring",
            Status::Completed => "completed",
            Status::Expired => "expired",
            Status::Cancelling => "cancelling",
            Status::Cancelled => "cancelled",
        }
    }

    /// Returns the status with this name.
    ///
    /// # Examples
    ///
    /// ```
    /// use quillet_core::batch::Status;
    ///
    /// assert_eq!(Status::from_name("in_progress"), Some(Status::InProgress));
    /// assert!(Status::Completed.is_final());
    /// assert!(!Status::Cancelling.is_final());
    /// ```
    #[must_use]
    pub fn from_name(word: &str) -> Option<Self> {
        Status::ALL.into_iter().find(|status| status.word() == word)
    }

    /// Whether the status never changes again.
    #[must_use]
    pub fn is_final(self) -> bool {
        matches!(
            self,
            Status::Failed | Status::Completed | Status::Expired | Status::Cancelled
        )
    }

    /// Whether workers may lease units and store results.
    #[must_use]
    pub fn accepts_results(self) -> bool {
        matches!(self, Status::InProgress | Status::Expiring)
    }
}

/// An error in the input of a batch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineError {
    /// Stable code: `duplicate_custom_id`.
    pub code: String,
    /// The problem and its fix.
    pub message: String,
    /// Line of the file, from 1.
    pub line: Option<u64>,
    /// Field of the line.
    pub param: Option<String>,
}

/// The immutable parameters of a batch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchOrder {
    /// Batch id: `batch_…`.
    pub id: String,
    /// Owner; only the owner may see the batch. Its rows run with the owner's permissions.
    pub owner: String,
    /// The file of its requests.
    pub input: String,
    /// The API path of the requests.
    pub endpoint: String,
    /// Completion window as the owner wrote it: `24h`.
    pub window: String,
    /// Creation time, in seconds since 1970.
    pub created: u64,
    /// The deadline.
    pub expires: u64,
    /// How long its files are kept after the batch has ended, in seconds.
    pub keep: u64,
    /// Whether its rows are sent to the batch API of the provider that serves their model.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub provider: bool,
    /// Metadata set by the owner.
    pub metadata: Option<serde_json::Map<String, serde_json::Value>>,
}

impl BatchOrder {
    /// Id of the output file.
    #[must_use]
    pub fn output(&self) -> String {
        format!("file-{}-output", self.tag())
    }

    /// Id of the error file.
    #[must_use]
    pub fn errors(&self) -> String {
        format!("file-{}-errors", self.tag())
    }

    /// Id of the file that records provider batch jobs. Only workers read this file.
    #[must_use]
    pub fn jobs(&self) -> String {
        format!("file-{}-jobs", self.tag())
    }

    fn tag(&self) -> &str {
        self.id.strip_prefix("batch_").unwrap_or(&self.id)
    }
}

/// A batch and its current state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// Its parameters.
    pub order: BatchOrder,
    /// Current status.
    pub status: Status,
    /// When each status began, in seconds since 1970.
    pub times: Vec<(Status, u64)>,
    /// Errors found in the input file.
    pub wrong: Vec<LineError>,
    /// Rows of the input; known after the check.
    pub total: u64,
    /// Units that are not done.
    pub units: u64,
    /// Rows with an answer.
    pub completed: u64,
    /// Rows with an error.
    pub failed: u64,
    /// Bytes of the output file.
    pub output_bytes: u64,
    /// Bytes of the error file.
    pub error_bytes: u64,
    /// Rows leased again after their worker was lost. Each may have been sent to a model twice.
    pub again: u64,
}

impl Batch {
    /// Time at which a status began, if the batch has had that status.
    #[must_use]
    pub fn entered_at(&self, status: Status) -> Option<u64> {
        let found = self.times.iter().find(|(of, _)| *of == status);
        found.map(|(_, time)| *time)
    }
}

/// A status change of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchTransition {
    /// Allowed previous statuses.
    pub from: &'static [Status],
    /// The new status.
    pub to: Status,
    /// When the status changes, in seconds since 1970.
    pub at: u64,
    /// Errors in the input, if it was checked.
    pub wrong: Vec<LineError>,
    /// Rows and units of the input, if it was checked.
    pub counted: Option<(u64, u64)>,
}

impl BatchTransition {
    /// Creates a status change without errors or counts.
    #[must_use]
    pub fn new(from: &'static [Status], to: Status, at: u64) -> Self {
        BatchTransition {
            from,
            to,
            at,
            wrong: Vec::new(),
            counted: None,
        }
    }
}

/// A unit that a worker leases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchChunk {
    /// Number of the input chunk; 0 means checking the whole input.
    pub number: u64,
    /// Whether another worker leased it before, so some rows may already have results.
    pub again: bool,
}

/// Result of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowResult {
    /// Line number of the row.
    pub row: u64,
    /// Whether it belongs to the error file.
    pub failed: bool,
    /// The line to write.
    pub line: Vec<u8>,
}

/// Progress that a worker reports for a leased unit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The unit.
    pub unit: u64,
    /// Results of rows. A second result for a row is ignored.
    pub results: Vec<RowResult>,
    /// Rows processed again because their previous worker was lost.
    pub again: u64,
    /// Whether all rows of the unit have results now.
    pub done: bool,
}

/// Storage of files, batches and leases: in memory, in an SQLite file for the processes of one
/// machine, or in Redis for several machines.
pub trait Batches: Send + Sync + fmt::Debug {
    /// Describes the store and its location, without secrets.
    fn describe(&self) -> String;

    /// Adds chunks to a file without metadata. Unless [`Batches::keep_file`] registers the file, it
    /// expires at `expires` (seconds since 1970).
    fn add_pieces<'a>(
        &'a self,
        file: &'a str,
        pieces: &'a [FileChunk],
        expires: u64,
    ) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Registers a file, or replaces its metadata.
    fn keep_file<'a>(&'a self, file: &'a FileInfo) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Returns the metadata of a file.
    fn file<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<FileInfo>, StoreError>>;

    /// Returns the files of an owner, newest first.
    fn files<'a>(&'a self, owner: &'a str) -> BoxFuture<'a, Result<Vec<FileInfo>, StoreError>>;

    /// Returns chunks of a file, registered or not, starting at a line number: at least one, and at
    /// most `bytes` bytes in total.
    fn pieces<'a>(
        &'a self,
        file: &'a str,
        from: u64,
        bytes: usize,
    ) -> BoxFuture<'a, Result<FileChunkPage, StoreError>>;

    /// Deletes a file with its chunks; `false` if it was not registered.
    fn remove_file<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<bool, StoreError>>;

    /// Creates a batch in status [`Status::Validating`].
    fn begin<'a>(&'a self, order: &'a BatchOrder) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Returns a batch.
    fn batch<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<Batch>, StoreError>>;

    /// Returns the ids of the batches of an owner, newest first.
    fn batches<'a>(&'a self, owner: &'a str) -> BoxFuture<'a, Result<Vec<String>, StoreError>>;

    /// Returns the ids of batches without a final status, oldest first.
    fn active(&self) -> BoxFuture<'_, Result<Vec<String>, StoreError>>;

    /// Changes the status; `false` if the current status is not one of [`BatchTransition::from`].
    fn step<'a>(
        &'a self,
        id: &'a str,
        step: &'a BatchTransition,
    ) -> BoxFuture<'a, Result<bool, StoreError>>;

    /// Adds units to a batch that is being checked, in order of their numbers. Existing units do
    /// not change.
    fn add_units<'a>(
        &'a self,
        id: &'a str,
        units: &'a [u64],
    ) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Leases a unit that has no lease or an expired one.
    fn claim<'a>(
        &'a self,
        id: &'a str,
        worker: &'a str,
        lease: Duration,
    ) -> BoxFuture<'a, Result<Option<BatchChunk>, StoreError>>;

    /// Renews the leases of this worker. Units that another worker leased meanwhile are skipped.
    fn renew<'a>(
        &'a self,
        id: &'a str,
        worker: &'a str,
        units: &'a [u64],
        lease: Duration,
    ) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Returns the rows between two numbers, both included, that have results.
    fn answered<'a>(
        &'a self,
        id: &'a str,
        first: u64,
        last: u64,
    ) -> BoxFuture<'a, Result<Vec<u64>, StoreError>>;

    /// Stores results, all or none, and only while the batch accepts them. When the last unit of a
    /// batch in progress is done, the batch becomes finalizing. Returns the status afterwards;
    /// `None` if there is no such batch.
    fn report<'a>(
        &'a self,
        id: &'a str,
        report: &'a Report,
        at: u64,
    ) -> BoxFuture<'a, Result<Option<Status>, StoreError>>;

    /// Releases a unit, so that other workers do not have to wait until its lease expires.
    fn release_chunk<'a>(
        &'a self,
        id: &'a str,
        worker: &'a str,
        unit: u64,
    ) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Deletes expired files and batches. Workers call it periodically.
    fn sweep(&self, now: u64) -> BoxFuture<'_, Result<(), StoreError>>;
}

/// Limits and behaviour of batches in one process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchOptions {
    /// Whether this process processes rows. Default `true`.
    pub work: bool,
    /// Rows that this process handles at the same time. Default 32.
    pub concurrency: usize,
    /// Lease duration: how long the units of a dead worker stay leased. Default 30 s.
    pub lease: Duration,
    /// Retries of a row after a provider failure. Default 5. If the provider specifies a wait time,
    /// the row is retried until the deadline of the batch.
    pub retries: u32,
    /// Maximum rows of a batch. Default 1,000,000.
    pub rows: u64,
    /// Maximum bytes of a file. Default 512 MiB.
    pub file_bytes: u64,
    /// Maximum bytes of a line. Default 4 MiB.
    pub line_bytes: usize,
    /// Retention of files, and of batches after their end. Default 30 days.
    pub keep: Duration,
}

impl Default for BatchOptions {
    fn default() -> Self {
        BatchOptions {
            work: true,
            concurrency: 32,
            lease: Duration::from_secs(30),
            retries: 5,
            rows: 1_000_000,
            file_bytes: 512 << 20,
            line_bytes: 4 << 20,
            keep: Duration::from_secs(30 * 86_400),
        }
    }
}

/// A batch store and its options.
#[derive(Clone, Debug)]
pub struct BatchService {
    /// The store.
    pub store: Arc<dyn Batches>,
    /// The options.
    pub options: BatchOptions,
}
