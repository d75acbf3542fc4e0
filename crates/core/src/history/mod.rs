//! The contract with stores that keep the history of definitions: immutable versions, labels that
//! point at them, and a log of who did what.
//!
//! The definition that stands under its key stays what it always was, and anybody may write it with
//! any program. A history is what was seen under that key: each text that differs from the one
//! before is a version with the next number. So a version is made in two ways, by
//! [`HistoryStore::commit`], which writes the definition as well, and by [`HistoryStore::observe`], which
//! takes note of what somebody else wrote.
//!
//! Labels of a definition are an entry of [`EntryKind::Label`], which stores load, watch and report as
//! any other entry.

mod content;
mod label;
mod log;
mod version;
mod version_selector;

use crate::BoxFuture;
use crate::store::{EntryKey, EntryKind, StoreError};

pub use content::{DefinitionContent, Digest};
pub use label::{
    LATEST, LabelTarget, Labels, PRODUCTION, TrafficSplit, label_key, labelled, wrong_label,
};
pub use log::{Action, LogEntry, LogFilter};
pub use version::{
    Commit, CommitResult, HistoryImport, LabelMove, Version, VersionRecord, WritePrecondition,
};
pub use version_selector::VersionSelector;

/// The author of versions that were found in the store, written by nobody knows whom.
pub const STORE: &str = "store";

/// A store that keeps the history of its definitions.
///
/// All methods that change something do all of it or nothing, and are alone among all writers of
/// that definition, those of other processes included. A version whose number was answered is never
/// lost but by [`HistoryStore::collect`], and no label ever names a version that is not there.
pub trait HistoryStore: Send + Sync {
    /// Writes a definition, keeps it as a version and moves labels to it.
    ///
    /// What stands under the key and is no version yet becomes one first, by [`STORE`].
    ///
    /// # Errors
    /// `Conflict` where the definition is not what [`Commit::expect`] says; `Refused` for a text
    /// over the store's limit.
    fn commit<'a>(&'a self, commit: &'a Commit) -> BoxFuture<'a, Result<CommitResult, StoreError>>;

    /// Keeps what stands under each of these keys as a version, unless the newest version is that;
    /// gives the versions that are new, with their keys. Many replicas that see one write make one
    /// version of it.
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

    /// Adds a history that was kept elsewhere to one that is a beginning of it, or to none; gives
    /// how many versions were added. The newest version of the import becomes the definition.
    ///
    /// # Errors
    /// `Conflict` where the two histories differ.
    fn import<'a>(&'a self, import: &'a HistoryImport) -> BoxFuture<'a, Result<usize, StoreError>>;

    /// Drops versions but the newest `keep`, those that labels name, and the newest of all; gives
    /// their numbers.
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
