//! Read-only store with entries in memory over another store; used to render a file with the
//! prompts, variables and tools of a store.

use std::collections::BTreeMap;
use std::sync::Arc;

use quillet_core::BoxFuture;
use quillet_core::history::HistoryStore;
use quillet_core::store::{
    Changes, EntryKey, EntryKind, Health, Store, StoreEntry, StoreError, StoreErrorKind,
};

/// Entries in memory over another store. Read-only.
#[derive(Debug)]
pub(crate) struct Overlay {
    under: Arc<dyn Store>,
    over: BTreeMap<(EntryKind, EntryKey), StoreEntry>,
}

impl Overlay {
    pub(crate) fn new(under: Arc<dyn Store>) -> Self {
        Overlay {
            under,
            over: BTreeMap::new(),
        }
    }

    /// Adds an entry, which hides the one of the same key in the store.
    pub(crate) fn add(&mut self, kind: EntryKind, entry: StoreEntry) {
        self.over.insert((kind, entry.key.clone()), entry);
    }

    fn own(&self, kind: EntryKind) -> impl Iterator<Item = &StoreEntry> {
        let of_kind = move |((known, _), _): &(&(EntryKind, EntryKey), &StoreEntry)| *known == kind;
        self.over.iter().filter(of_kind).map(|(_, entry)| entry)
    }

    fn read_only<T>(&self) -> Result<T, StoreError> {
        let message = format!("{} is read-only here", self.describe());
        Err(StoreError::new(StoreErrorKind::Refused, message))
    }
}

impl Store for Overlay {
    fn describe(&self) -> String {
        self.under.describe()
    }

    fn load(&self, kind: EntryKind) -> BoxFuture<'_, Result<Vec<StoreEntry>, StoreError>> {
        Box::pin(async move {
            // A map, so that an entry in memory replaces the stored one of the same key.
            let under = self.under.load(kind).await?;
            let mut all: BTreeMap<EntryKey, StoreEntry> = under
                .into_iter()
                .map(|entry| (entry.key.clone(), entry))
                .collect();
            all.extend(
                self.own(kind)
                    .map(|entry| (entry.key.clone(), entry.clone())),
            );
            Ok(all.into_values().collect())
        })
    }

    fn keys(&self, kind: EntryKind) -> BoxFuture<'_, Result<Vec<EntryKey>, StoreError>> {
        Box::pin(async move {
            let mut keys = self.under.keys(kind).await?;
            keys.extend(self.own(kind).map(|entry| entry.key.clone()));
            keys.sort();
            // The keys were sorted above, because `dedup` removes only adjacent duplicates.
            keys.dedup();
            Ok(keys)
        })
    }

    fn get<'a>(
        &'a self,
        kind: EntryKind,
        keys: &'a [EntryKey],
    ) -> BoxFuture<'a, Result<Vec<Option<Arc<str>>>, StoreError>> {
        Box::pin(async move {
            // All keys are requested together, even if some are hidden.
            let mut texts = self.under.get(kind, keys).await?;
            for (text, key) in texts.iter_mut().zip(keys) {
                if let Some(entry) = self.over.get(&(kind, key.clone())) {
                    *text = Some(entry.text.clone());
                }
            }
            Ok(texts)
        })
    }

    fn entries<'a>(
        &'a self,
        kind: EntryKind,
        keys: &'a [EntryKey],
    ) -> BoxFuture<'a, Result<Vec<Option<StoreEntry>>, StoreError>> {
        Box::pin(async move {
            let mut entries = self.under.entries(kind, keys).await?;
            for (entry, key) in entries.iter_mut().zip(keys) {
                if let Some(over) = self.over.get(&(kind, key.clone())) {
                    *entry = Some(over.clone());
                }
            }
            Ok(entries)
        })
    }

    fn put<'a>(
        &'a self,
        _: EntryKind,
        _: &'a EntryKey,
        _: &'a str,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async { self.read_only() })
    }

    fn remove<'a>(
        &'a self,
        _: EntryKind,
        _: &'a EntryKey,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        Box::pin(async { self.read_only() })
    }

    fn changes(&self) -> Changes {
        self.under.changes()
    }

    fn sync(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        self.under.sync()
    }

    fn health(&self) -> Health {
        self.under.health()
    }

    /// Entries in memory have no versions, but the definitions they call may.
    fn history(&self) -> Option<&dyn HistoryStore> {
        self.under.history()
    }
}
