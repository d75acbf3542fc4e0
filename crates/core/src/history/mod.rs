//! Version history of definitions: immutable versions, labels that point at them, and an audit log.
//!
//! The definition stays under its key, and any program may write it. The history records what was
//! stored under that key: each text that differs from the previous one is a version with the next
//! number. Versions are created in two ways: [`HistoryStore::commit`] writes the definition and its
//! version, and [`HistoryStore::observe`] records what another program wrote.
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

/// The author of versions that were found in the store, whose real author is unknown.
pub const STORE: &str = "store";

/// A store that keeps the history of its definitions.
///
/// All changes are atomic and exclude all other writers of the definition, in other processes too.
/// Only [`HistoryStore::collect`] deletes versions, and no label ever points at a version that does
/// not exist.
pub trait HistoryStore: Send + Sync {
    /// Writes a definition, keeps it as a version and moves labels to it.
    ///
    /// A stored definition that is not a version yet is recorded first, with the author [`STORE`].
    ///
    /// # Errors
    /// `Conflict` where the definition is not what [`Commit::expect`] says; `Refused` for a text
    /// over the store's limit.
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

    /// Versions below a number, newest first; from the newest where `before` is `None`.
    fn versions<'a>(
        &'a self,
        kind: EntryKind,
        key: &'a EntryKey,
        before: Option<u64>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Version>, StoreError>>;

    /// Versions by key and number with what they hold, in the same order and in one round trip;
    /// `None` for one that is not there.
    fn load_versions<'a>(
        &'a self,
        kind: EntryKind,
        wanted: &'a [(EntryKey, u64)],
    ) -> BoxFuture<'a, Result<Vec<Option<VersionRecord>>, StoreError>>;

    /// The newest version whose digest begins with these hexadecimal digits.
    fn find<'a>(
        &'a self,
        kind: EntryKind,
        key: &'a EntryKey,
        digits: &'a str,
    ) -> BoxFuture<'a, Result<Option<Version>, StoreError>>;

    /// Moves labels of a definition; gives all of its labels as they are then.
    ///
    /// # Errors
    /// `NoVersion` where a label would name a version that is not there, or that is a removal;
    /// `Conflict` where a label is not at [`LabelMove::expect`].
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
    /// `Conflict` where the two histories differ.
    fn import<'a>(&'a self, import: &'a HistoryImport) -> BoxFuture<'a, Result<usize, StoreError>>;

    /// Deletes all versions except the newest `keep` and those that labels point at, and returns
    /// their numbers. The newest version always remains.
    fn collect<'a>(
        &'a self,
        kind: EntryKind,
        key: &'a EntryKey,
        keep: usize,
    ) -> BoxFuture<'a, Result<Vec<u64>, StoreError>>;

    /// The keys of a kind that have a history, those of removed definitions included, sorted.
    fn keys(&self, kind: EntryKind) -> BoxFuture<'_, Result<Vec<EntryKey>, StoreError>>;

    /// Appends to the log.
    fn note<'a>(&'a self, entry: &'a LogEntry) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Entries of the log below a number, newest first; from the newest where `before` is `None`.
    fn log<'a>(
        &'a self,
        filter: &'a LogFilter,
        before: Option<u64>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<LogEntry>, StoreError>>;
}
