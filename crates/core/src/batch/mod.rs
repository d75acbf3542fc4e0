//! The contract about batches: files of many requests, and the rows in them that any worker may take.
//!
//! A file is pieces that are numbered by the line that they begin with, so that neither writing nor
//! reading one takes more memory than a piece. A *unit* of a batch is one piece of its input, which a
//! worker holds for as long as it renews its lease. What a row has come to is a piece of the batch's
//! output, or of its errors, under the row's number: that is there at most once, whoever writes it
//! and however often, and it is there before its unit counts as done.

mod cut;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::BoxFuture;
use crate::store::StoreError;

pub use cut::{LongLine, RowSplitter, lines};

/// What is known of a file. Times are seconds since 1970.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileInfo {
    /// Its id: `file-…`.
    pub id: String,
    /// Who may see it.
    pub owner: String,
    /// What its owner called it.
    pub name: String,
    /// What it is for: `batch`, `batch_output`.
    pub purpose: String,
    /// Bytes of all pieces.
    pub bytes: u64,
    /// When it was made.
    pub created: u64,
    /// When it goes.
    pub expires: u64,
}

/// A part of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileChunk {
    /// The number of its first line, from 1.
    pub number: u64,
    /// Whole lines.
    pub bytes: Vec<u8>,
}

/// Some pieces of a file, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileChunkPage {
    /// The pieces.
    pub pieces: Vec<FileChunk>,
    /// The number to go on with; `None` at the end of the file.
    pub next: Option<u64>,
}

/// How a batch stands. The words are OpenAI's, but for [`Status::Expiring`], which is `finalizing`
/// to clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Its input is being looked at.
    Validating,
    /// Its input is no batch.
    Failed,
    /// Its rows are worked on.
    InProgress,
    /// All rows are done.
    Finalizing,
    /// Its time is over, and the rows that are left get an error.
    Expiring,
    /// Its files can be read.
    Completed,
    /// Its time was over before its rows were done.
    Expired,
    /// It is to end.
    Cancelling,
    /// It has ended before its rows were done.
    Cancelled,
}

impl Status {
    /// All of them.
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

    /// As it is stored.
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

    /// The status of this word.
    #[must_use]
    pub fn named(word: &str) -> Option<Self> {
        Status::ALL.into_iter().find(|status| status.word() == word)
    }

    /// Whether nothing follows.
    #[must_use]
    pub fn is_final(self) -> bool {
        matches!(
            self,
            Status::Failed | Status::Completed | Status::Expired | Status::Cancelled
        )
    }

    /// Whether units are handed out and results are taken.
    #[must_use]
    pub fn takes_results(self) -> bool {
        matches!(self, Status::InProgress | Status::Expiring)
    }
}

/// Something that is wrong with the input of a batch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineError {
    /// Stable code: `duplicate_custom_id`.
    pub code: String,
    /// What is wrong and how to mend it.
    pub message: String,
    /// The line of the file, from 1.
    pub line: Option<u64>,
    /// The member of the line.
    pub param: Option<String>,
}

/// What was asked for when a batch was made; it does not change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchOrder {
    /// Its id: `batch_…`.
    pub id: String,
    /// Who may see it, and whose rights its rows have.
    pub owner: String,
    /// The file of its requests.
    pub input: String,
    /// The path that they are for.
    pub endpoint: String,
    /// The time that it has, in the words of its owner: `24h`.
    pub window: String,
    /// When it was made, in seconds since 1970.
    pub created: u64,
    /// When its time is over.
    pub expires: u64,
    /// For how many seconds its files are kept after its end.
    pub keep: u64,
    /// Whether its rows go to the batch API of their model's provider.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub provider: bool,
    /// What its owner wants to find again with it.
    pub metadata: Option<serde_json::Map<String, serde_json::Value>>,
}

impl BatchOrder {
    /// The file of what was answered.
    #[must_use]
    pub fn output(&self) -> String {
        format!("file-{}-output", self.tag())
    }

    /// The file of what was not.
    #[must_use]
    pub fn errors(&self) -> String {
        format!("file-{}-errors", self.tag())
    }

    /// The file of what was handed over to providers: nobody but workers reads it.
    #[must_use]
    pub fn jobs(&self) -> String {
        format!("file-{}-jobs", self.tag())
    }

    fn tag(&self) -> &str {
        self.id.strip_prefix("batch_").unwrap_or(&self.id)
    }
}

/// A batch as it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// What was asked for.
    pub order: BatchOrder,
    /// How it stands.
    pub status: Status,
    /// When it came to stand so, and how it stood before, in seconds since 1970.
    pub times: Vec<(Status, u64)>,
    /// What is wrong with its input.
    pub wrong: Vec<LineError>,
    /// Rows of the input, once it was looked at.
    pub total: u64,
    /// Units that are not done yet.
    pub units: u64,
    /// Rows that were answered.
    pub completed: u64,
    /// Rows that were not.
    pub failed: u64,
    /// Bytes of the lines of either.
    pub output_bytes: u64,
    /// See `output_bytes`.
    pub error_bytes: u64,
    /// Rows that were handed out again after their worker was lost: each may have been asked twice.
    pub again: u64,
}

impl Batch {
    /// When it came to stand like this.
    #[must_use]
    pub fn time_of(&self, status: Status) -> Option<u64> {
        let found = self.times.iter().find(|(of, _)| *of == status);
        found.map(|(_, time)| *time)
    }
}

/// A step of a batch from one status to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchTransition {
    /// It is taken only from one of these.
    pub from: &'static [Status],
    /// Where it leads.
    pub to: Status,
    /// When it is taken, in seconds since 1970.
    pub at: u64,
    /// What is wrong with the input, if it was looked at.
    pub wrong: Vec<LineError>,
    /// Rows and units of the input, if it was looked at.
    pub counted: Option<(u64, u64)>,
}

impl BatchTransition {
    /// A step that says nothing else.
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

/// A part of a batch that a worker holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchChunk {
    /// The number of the piece of the input; 0 is to look at the input as a whole.
    pub number: u64,
    /// Whether somebody has held it before, so that some of its rows may have results.
    pub again: bool,
}

/// What a row has come to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowResult {
    /// The number of its line.
    pub row: u64,
    /// Whether it goes to the errors.
    pub failed: bool,
    /// The line that is written of it.
    pub line: Vec<u8>,
}

/// What a worker has to say of a unit that it holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The unit.
    pub unit: u64,
    /// Results of rows. Those of rows that have one are left out.
    pub results: Vec<RowResult>,
    /// Rows that are asked again, since who held them before was lost.
    pub again: u64,
    /// Whether all of its rows have results now.
    pub done: bool,
}

/// Files and batches, and the rows that workers take: in memory, in an SQLite file for the processes
/// of one machine, in Redis for many.
pub trait Batches: Send + Sync + fmt::Debug {
    /// What and where it is, without secrets.
    fn describe(&self) -> String;

    /// Adds pieces to a file that is not known yet, and goes by itself at a time (seconds since
    /// 1970) unless it becomes known.
    fn add_pieces<'a>(
        &'a self,
        file: &'a str,
        pieces: &'a [FileChunk],
        expires: u64,
    ) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Makes a file known to its owner, or says anew what is known of it.
    fn keep_file<'a>(&'a self, file: &'a FileInfo) -> BoxFuture<'a, Result<(), StoreError>>;

    /// What is known of a file.
    fn file<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<FileInfo>, StoreError>>;

    /// Files of an owner, newest first.
    fn files<'a>(&'a self, owner: &'a str) -> BoxFuture<'a, Result<Vec<FileInfo>, StoreError>>;

    /// Pieces of a file from a number on, known or not: at least one, and no more once they have so
    /// many bytes.
    fn pieces<'a>(
        &'a self,
        file: &'a str,
        from: u64,
        bytes: usize,
    ) -> BoxFuture<'a, Result<FileChunkPage, StoreError>>;

    /// Forgets a file with its pieces; `false` if it was not known.
    fn remove_file<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<bool, StoreError>>;

    /// Begins a batch, which is to be looked at first.
    fn begin<'a>(&'a self, order: &'a BatchOrder) -> BoxFuture<'a, Result<(), StoreError>>;

    /// A batch.
    fn batch<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<Batch>, StoreError>>;

    /// Ids of the batches of an owner, newest first.
    fn batches<'a>(&'a self, owner: &'a str) -> BoxFuture<'a, Result<Vec<String>, StoreError>>;

    /// Ids of batches that have not come to their end, oldest first.
    fn active(&self) -> BoxFuture<'_, Result<Vec<String>, StoreError>>;

    /// Takes a step; `false` if the batch stands otherwise.
    fn step<'a>(
        &'a self,
        id: &'a str,
        step: &'a BatchTransition,
    ) -> BoxFuture<'a, Result<bool, StoreError>>;

    /// Adds units to a batch that is being looked at, by their numbers in order. Those that it has
    /// stay as they are.
    fn add_units<'a>(
        &'a self,
        id: &'a str,
        units: &'a [u64],
    ) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Hands out a unit that nobody holds, or whose holder has not renewed it in time.
    fn claim<'a>(
        &'a self,
        id: &'a str,
        worker: &'a str,
        lease: Duration,
    ) -> BoxFuture<'a, Result<Option<BatchChunk>, StoreError>>;

    /// Renews units that this worker holds, and nobody has taken meanwhile.
    fn renew<'a>(
        &'a self,
        id: &'a str,
        worker: &'a str,
        units: &'a [u64],
        lease: Duration,
    ) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Those rows between two numbers, both included, that have results.
    fn answered<'a>(
        &'a self,
        id: &'a str,
        rows: (u64, u64),
    ) -> BoxFuture<'a, Result<Vec<u64>, StoreError>>;

    /// Keeps results, all or none, and only while the batch takes them. When the last unit is done
    /// in a batch that is in progress, it is finalizing. Answers how the batch stands then; `None`
    /// if there is none.
    fn report<'a>(
        &'a self,
        id: &'a str,
        report: &'a Report,
        at: u64,
    ) -> BoxFuture<'a, Result<Option<Status>, StoreError>>;

    /// Gives a unit back, so that others need not wait for the end of its lease.
    fn release_chunk<'a>(
        &'a self,
        id: &'a str,
        worker: &'a str,
        unit: u64,
    ) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Forgets what has expired. Whoever works calls it now and then.
    fn sweep(&self, now: u64) -> BoxFuture<'_, Result<(), StoreError>>;
}

/// The bounds and ways of batches, in one process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchOptions {
    /// Whether this process works on rows. Default `true`.
    pub work: bool,
    /// Rows that this process works on at the same time. Default 32.
    pub concurrency: usize,
    /// How long a worker that has died holds its units. Default 30 s.
    pub lease: Duration,
    /// How often a row is asked again whose provider failed. Default 5. One that is told to wait is
    /// asked again for as long as its batch has time.
    pub retries: u32,
    /// Most rows of a batch. Default 1,000,000.
    pub rows: u64,
    /// Most bytes of a file. Default 512 MiB.
    pub file_bytes: u64,
    /// Most bytes of a line. Default 4 MiB.
    pub line_bytes: usize,
    /// How long files are kept, and batches after their end. Default 30 days.
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

/// Where batches are kept, and how they are worked on.
#[derive(Clone, Debug)]
pub struct BatchService {
    /// Where.
    pub store: Arc<dyn Batches>,
    /// How.
    pub options: BatchOptions,
}
