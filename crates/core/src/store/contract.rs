//! The store trait.

use std::fmt;
use std::sync::Arc;

use super::{Changes, EntryKey, EntryKind, Health, StoreEntry, StoreError};
use crate::BoxFuture;
use crate::history::HistoryStore;

/// A store of definitions and shared variables.
pub trait Store: Send + Sync + fmt::Debug {
    /// Describes the store and its location, without secrets: `redis at 127.0.0.1:6379`.
    fn describe(&self) -> String;

    /// Returns all entries of a kind, sorted by key.
    fn load(&self, kind: EntryKind) -> BoxFuture<'_, Result<Vec<StoreEntry>, StoreError>>;

    /// Returns all entries of several kinds, like [`Store::load`] for each, but in fewer round
    /// trips if the store supports it.
    fn load_all<'a>(
        &'a self,
        kinds: &'a [EntryKind],
    ) -> BoxFuture<'a, Result<Vec<Vec<StoreEntry>>, StoreError>> {
        Box::pin(async move {
            let mut all = Vec::with_capacity(kinds.len());
            for kind in kinds {
                all.push(self.load(*kind).await?);
            }
            Ok(all)
        })
    }

    /// Returns the keys of a kind, sorted, without their texts.
    fn keys(&self, kind: EntryKind) -> BoxFuture<'_, Result<Vec<EntryKey>, StoreError>>;

    /// Returns the texts under these keys, in the same order, in one round trip.
    fn get<'a>(
        &'a self,
        kind: EntryKind,
        keys: &'a [EntryKey],
    ) -> BoxFuture<'a, Result<Vec<Option<Arc<str>>>, StoreError>>;

    /// Returns the entries under these keys, in the same order, in one round trip. Like those of
    /// [`Store::load`], they include invalid ones with their problems.
    fn entries<'a>(
        &'a self,
        kind: EntryKind,
        keys: &'a [EntryKey],
    ) -> BoxFuture<'a, Result<Vec<Option<StoreEntry>>, StoreError>> {
        Box::pin(async move {
            let texts = self.get(kind, keys).await?;
            let entry = |(key, text): (&EntryKey, Option<Arc<str>>)| {
                Some(StoreEntry::new(key.clone(), text?, key.as_str()))
            };
            Ok(keys.iter().zip(texts).map(entry).collect())
        })
    }

    /// Writes an entry.
    fn put<'a>(
        &'a self,
        kind: EntryKind,
        key: &'a EntryKey,
        text: &'a str,
    ) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Removes an entry; `false` if it does not exist.
    fn remove<'a>(
        &'a self,
        kind: EntryKind,
        key: &'a EntryKey,
    ) -> BoxFuture<'a, Result<bool, StoreError>>;

    /// Returns future changes. A slow reader may get one
    /// [`StoreChange::All`](super::StoreChange::All) instead of many changes.
    fn changes(&self) -> Changes;

    /// Completes when every change made before this call has been sent to [`Store::changes`].
    ///
    /// # Errors
    /// The store does not answer, so changes may be missing.
    fn sync(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async { Ok(()) })
    }

    /// Returns the last known health, without waiting.
    fn health(&self) -> Health;

    /// Returns the version history of its definitions, if it has one.
    fn history(&self) -> Option<&dyn HistoryStore> {
        None
    }
}
