//! A store that lives and dies with the process.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use futures_util::FutureExt;
use quillet_core::BoxFuture;
use quillet_core::store::{Change, Changes, Entry, Health, Key, Kind, Store, StoreError};

use crate::changes::Hub;

type Entries = BTreeMap<(Kind, Key), Entry>;

/// Entries in memory.
#[derive(Debug)]
pub struct MemoryStore {
    name: &'static str,
    entries: RwLock<Entries>,
    hub: Hub,
}

impl MemoryStore {
    /// An empty store.
    #[must_use]
    pub fn new() -> Self {
        MemoryStore::named("memory", Entries::new())
    }

    pub(crate) fn named(name: &'static str, entries: Entries) -> Self {
        MemoryStore {
            name,
            entries: RwLock::new(entries),
            hub: Hub::new(),
        }
    }

    /// No method panics while it holds the lock, so a poisoned one is sound.
    fn read<T>(&self, look: impl FnOnce(&Entries) -> T) -> T {
        look(&self.entries.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn write<T>(&self, change: impl FnOnce(&mut Entries) -> T) -> T {
        change(&mut self.entries.write().unwrap_or_else(PoisonError::into_inner))
    }

    fn of_kind(&self, kind: Kind) -> Vec<Entry> {
        self.read(|entries| {
            let found = entries.iter().filter(|(at, _)| at.0 == kind);
            found.map(|(_, entry)| entry.clone()).collect()
        })
    }

    fn texts(&self, kind: Kind, keys: &[Key]) -> Vec<Option<Arc<str>>> {
        self.read(|entries| {
            let text = |key: &Key| Some(entries.get(&(kind, key.clone()))?.text.clone());
            keys.iter().map(text).collect()
        })
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        MemoryStore::new()
    }
}

impl Store for MemoryStore {
    fn describe(&self) -> String {
        self.name.to_owned()
    }

    fn load(&self, kind: Kind) -> BoxFuture<'_, Result<Vec<Entry>, StoreError>> {
        async move { Ok(self.of_kind(kind)) }.boxed()
    }

    fn keys(&self, kind: Kind) -> BoxFuture<'_, Result<Vec<Key>, StoreError>> {
        async move {
            Ok(self
                .of_kind(kind)
                .into_iter()
                .map(|entry| entry.key)
                .collect())
        }
        .boxed()
    }

    fn get<'a>(
        &'a self,
        kind: Kind,
        keys: &'a [Key],
    ) -> BoxFuture<'a, Result<Vec<Option<Arc<str>>>, StoreError>> {
        async move { Ok(self.texts(kind, keys)) }.boxed()
    }

    fn entries<'a>(
        &'a self,
        kind: Kind,
        keys: &'a [Key],
    ) -> BoxFuture<'a, Result<Vec<Option<Entry>>, StoreError>> {
        let entry = |entries: &Entries, key: &Key| entries.get(&(kind, key.clone())).cloned();
        let found = self.read(|entries| keys.iter().map(|key| entry(entries, key)).collect());
        async move { Ok(found) }.boxed()
    }

    fn put<'a>(
        &'a self,
        kind: Kind,
        key: &'a Key,
        text: &'a str,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        async move {
            let entry = Entry::new(key.clone(), text, format!("{}/{key}", self.name));
            self.write(|entries| entries.insert((kind, key.clone()), entry));
            self.hub.send(Change::Entry(kind, key.clone()));
            Ok(())
        }
        .boxed()
    }

    fn remove<'a>(&'a self, kind: Kind, key: &'a Key) -> BoxFuture<'a, Result<bool, StoreError>> {
        async move {
            let removed = self.write(|entries| entries.remove(&(kind, key.clone())));
            if removed.is_some() {
                self.hub.send(Change::Entry(kind, key.clone()));
            }
            Ok(removed.is_some())
        }
        .boxed()
    }

    fn changes(&self) -> Changes {
        self.hub.stream()
    }

    fn health(&self) -> Health {
        Health::Ready
    }
}
