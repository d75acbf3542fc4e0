//! Version history of definitions: immutable versions, labels that point at them, and an audit log.
//!
//! The definition stays under its key, where any program may write it. The history records the
//! content under that key: each text that differs from the previous one becomes a version with the
//! next number. [`HistoryStore::commit`] writes a definition and its version.
//! [`HistoryStore::observe`] records content that another program wrote.
//!
//! The labels of a definition are an entry of [`EntryKind::Label`], which stores load, watch and
//! report like any other entry.

mod content;
mod label;
mod log;
mod version;
mod version_selector;

use crate::BoxFuture;
use crate::store::{EntryKey, EntryKind, StoreError};

pub use content::{DefinitionContent, Digest};
pub use label::{
    LATEST, LabelTarget, Labels, PRODUCTION, TrafficSplit, label_error, label_key,
    labelled_definition,
};
pub use log::{Action, LogEntry, LogFilter};
pub use version::{
    Commit, CommitResult, HistoryImport, LabelMove, Version, VersionRecord, WritePrecondition,
};
pub use version_selector::VersionSelector;

/// Author of versions that were found in the store, because the real author is unknown.
pub const STORE: &str = "store";

/// A store that keeps the history of its definitions.
///
/// All changes are atomic. They exclude concurrent writers of the same definition, including
/// writers in other processes. Only [`HistoryStore::collect`] deletes versions. Labels always point
/// at existing versions.
pub trait HistoryStore: Send + Sync {
    /// Writes a definition, records it as a version and moves labels to it.
    ///
    /// Existing content without a version is recorded first, with the author [`STORE`].
    ///
    /// # Errors
    /// `Conflict` if the definition does not match [`Commit::expect`]; `Refused` if a text exceeds
    /// the store's limit.
    fn commit<'a>(&'a self, commit: &'a Commit) -> BoxFuture<'a, Result<CommitResult, StoreError>>;

    /// Records the stored definition of each key as a version unless it is the newest version, and
    /// returns the new versions with their keys. Several replicas that see one write create one
    /// version.
    fn observe<'a>(
        &'a self,
        kind: EntryKind,
        keys: &'a [EntryKey],
        author: &'a str,
    ) -> BoxFuture<'a, Result<Vec<(EntryKey, Version)>, StoreError>>;

    /// Returns up to `limit` versions below number `before`, newest first.
    fn versions<'a>(
        &'a self,
        kind: EntryKind,
        key: &'a EntryKey,
        before: Option<u64>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Version>, StoreError>>;

    /// Returns versions with their content, by key and number, in the same order and in one round
    /// trip; `None` for unknown ones.
    fn load_versions<'a>(
        &'a self,
        kind: EntryKind,
        wanted: &'a [(EntryKey, u64)],
    ) -> BoxFuture<'a, Result<Vec<Option<VersionRecord>>, StoreError>>;

    /// Returns the newest version whose digest begins with these hexadecimal digits.
    fn find<'a>(
        &'a self,
        kind: EntryKind,
        key: &'a EntryKey,
        digits: &'a str,
    ) -> BoxFuture<'a, Result<Option<Version>, StoreError>>;

    /// Moves labels of a definition, and returns all of its labels after the change.
    ///
    /// # Errors
    /// `NoVersion` if the target of a label does not exist or is a removal; `Conflict` if a label
    /// does not match [`LabelMove::expect`].
    fn relabel<'a>(
        &'a self,
        kind: EntryKind,
        key: &'a EntryKey,
        moves: &'a [LabelMove],
    ) -> BoxFuture<'a, Result<Labels, StoreError>>;

    /// Imports a history that continues the existing one, or a new one, and returns the number of
    /// added versions. The newest imported version becomes the definition.
    ///
    /// # Errors
    /// `Conflict` if the two histories differ.
    fn import<'a>(&'a self, import: &'a HistoryImport) -> BoxFuture<'a, Result<usize, StoreError>>;

    /// Deletes all versions except the newest `keep` and those that labels point at, and returns
    /// their numbers. The newest version always remains.
    fn collect<'a>(
        &'a self,
        kind: EntryKind,
        key: &'a EntryKey,
        keep: usize,
    ) -> BoxFuture<'a, Result<Vec<u64>, StoreError>>;

    /// Returns the keys of a kind that have a history, sorted, including those of removed
    /// definitions.
    fn keys(&self, kind: EntryKind) -> BoxFuture<'_, Result<Vec<EntryKey>, StoreError>>;

    /// Appends to the log.
    fn note<'a>(&'a self, entry: &'a LogEntry) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Returns up to `limit` log entries below number `before`, newest first.
    fn log<'a>(
        &'a self,
        filter: &'a LogFilter,
        before: Option<u64>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<LogEntry>, StoreError>>;
}
