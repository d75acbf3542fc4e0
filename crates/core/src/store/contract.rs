//! The store trait.

use std::fmt;
use std::sync::Arc;

use super::{Changes, EntryKey, EntryKind, Health, StoreEntry, StoreError};
use crate::BoxFuture;
use crate::history::HistoryStore;

/// A store of definitions and shared variables.
pub trait Store: Send + Sync + fmt::Debug {
    /// What and where it is, without secrets: `redis at 127.0.0.1:6379`.
    fn describe(&self) -> String;

    /// Every entry of a kind, sorted by key.
    fn load(&self, kind: EntryKind) -> BoxFuture<'_, Result<Vec<StoreEntry>, StoreError>>;

    /// Every entry of several kinds, in their order: as [`Store::load`] gives them, in fewer steps
    /// where the store can.
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

    /// The keys of a kind, sorted, without their texts.
    fn keys(&self, kind: EntryKind) -> BoxFuture<'_, Result<Vec<EntryKey>, StoreError>>;

    /// The texts under these keys, in the same order, in one round trip.
    fn get<'a>(
        &'a self,
        kind: EntryKind,
        keys: &'a [EntryKey],
    ) -> BoxFuture<'a, Result<Vec<Option<Arc<str>>>, StoreError>>;

    /// The entries under these keys, in the same order, in one round trip: as [`Store::load`]
    /// gives them, broken ones with what is wrong with them.
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

    /// Removes an entry; `false` if there was none.
    fn remove<'a>(
        &'a self,
        kind: EntryKind,
        key: &'a EntryKey,
    ) -> BoxFuture<'a, Result<bool, StoreError>>;

    /// Changes from now on. A slow reader may get [`StoreChange::All`](super::StoreChange::All) instead of
    /// many.
    fn changes(&self) -> Changes;

    /// Completes when every change made before this call has been sent to [`Store::changes`].
    ///
    /// # Errors
    /// The store does not answer, so changes are unknown.
    fn sync(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async { Ok(()) })
    }

    /// Returns the last known health, without waiting.
    fn health(&self) -> Health;

    /// The history of its definitions, if it keeps one.
    fn history(&self) -> Option<&dyn HistoryStore> {
        None
    }
}
