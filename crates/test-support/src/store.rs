//! A store that can become unavailable and counts its round trips.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use futures_util::StreamExt;
use quillet_core::BoxFuture;
use quillet_core::store::{
    Changes, EntryKey, EntryKind, Health, Store, StoreChange, StoreEntry, StoreError,
    StoreErrorKind,
};
use tokio::sync::{broadcast, watch};

/// An in-memory store that can become unavailable and counts its round trips.
#[derive(Debug)]
pub struct TestStore {
    texts: Mutex<BTreeMap<(EntryKind, EntryKey), Arc<str>>>,
    away: AtomicBool,
    gets: AtomicUsize,
    got: Mutex<Vec<EntryKey>>,
    loads: AtomicUsize,
    hung: watch::Sender<bool>,
    changes: broadcast::Sender<StoreChange>,
}

impl TestStore {
    /// Creates a store that contains these definitions, each given as kind, key and text.
    pub fn new(entries: &[(EntryKind, &str, &str)]) -> Arc<Self> {
        let entry = |(kind, key, text): &(EntryKind, &str, &str)| {
            ((*kind, EntryKey::new(*key)), Arc::from(*text))
        };
        Arc::new(TestStore {
            texts: Mutex::new(entries.iter().map(entry).collect()),
            away: AtomicBool::new(false),
            gets: AtomicUsize::new(0),
            got: Mutex::default(),
            loads: AtomicUsize::new(0),
            hung: watch::Sender::new(false),
            changes: broadcast::channel(64).0,
        })
    }

    /// Sets whether the store is unavailable. An unavailable store returns only errors.
    pub fn set_away(&self, away: bool) {
        self.away.store(away, Ordering::SeqCst);
        if !away {
            let _ = self.changes.send(StoreChange::All);
        }
    }

    /// Returns the number of round trips for values since the last call, and the keys that were
    /// requested.
    pub fn take_gets(&self) -> (usize, Vec<String>) {
        let keys = std::mem::take(&mut *self.got.lock().unwrap());
        let keys = keys.iter().map(EntryKey::to_string).collect();
        (self.gets.swap(0, Ordering::SeqCst), keys)
    }

    /// Sets whether requests for values hang.
    #[allow(dead_code, reason = "other crates' tests include this file")]
    pub fn set_hung(&self, hung: bool) {
        self.hung.send_replace(hung);
    }

    /// Returns how many times all entries of a kind were read since the last call.
    #[allow(dead_code, reason = "other crates' tests include this file")]
    pub fn take_loads(&self) -> usize {
        self.loads.swap(0, Ordering::SeqCst)
    }

    fn answer<T>(&self, value: T) -> Result<T, StoreError> {
        if self.away.load(Ordering::SeqCst) {
            Err(StoreError::new(
                StoreErrorKind::Unavailable,
                "the test store is away",
            ))
        } else {
            Ok(value)
        }
    }
}

impl Store for TestStore {
    fn describe(&self) -> String {
        "test store".into()
    }

    fn load(&self, kind: EntryKind) -> BoxFuture<'_, Result<Vec<StoreEntry>, StoreError>> {
        self.loads.fetch_add(1, Ordering::SeqCst);
        let texts = self.texts.lock().unwrap();
        let entry = |((_, key), text): (&(EntryKind, EntryKey), &Arc<str>)| {
            StoreEntry::new(key.clone(), text.clone(), key.as_str())
        };
        let entries = texts
            .iter()
            .filter(|((k, _), _)| *k == kind)
            .map(entry)
            .collect();
        let answer = self.answer(entries);
        Box::pin(async move { answer })
    }

    fn keys(&self, kind: EntryKind) -> BoxFuture<'_, Result<Vec<EntryKey>, StoreError>> {
        let texts = self.texts.lock().unwrap();
        let keys = texts
            .keys()
            .filter(|(k, _)| *k == kind)
            .map(|(_, key)| key.clone())
            .collect();
        let answer = self.answer(keys);
        Box::pin(async move { answer })
    }

    fn get<'a>(
        &'a self,
        kind: EntryKind,
        keys: &'a [EntryKey],
    ) -> BoxFuture<'a, Result<Vec<Option<Arc<str>>>, StoreError>> {
        self.gets.fetch_add(1, Ordering::SeqCst);
        self.got.lock().unwrap().extend(keys.iter().cloned());
        let texts = self.texts.lock().unwrap();
        let found = keys
            .iter()
            .map(|key| texts.get(&(kind, key.clone())).cloned())
            .collect();
        let answer = self.answer(found);
        let mut hung = self.hung.subscribe();
        Box::pin(async move {
            let _ = hung.wait_for(|hung| !hung).await;
            answer
        })
    }

    fn put<'a>(
        &'a self,
        kind: EntryKind,
        key: &'a EntryKey,
        text: &'a str,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        self.texts
            .lock()
            .unwrap()
            .insert((kind, key.clone()), text.into());
        let _ = self.changes.send(StoreChange::Entry(kind, key.clone()));
        let answer = self.answer(());
        Box::pin(async move { answer })
    }

    fn remove<'a>(
        &'a self,
        kind: EntryKind,
        key: &'a EntryKey,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        let removed = self
            .texts
            .lock()
            .unwrap()
            .remove(&(kind, key.clone()))
            .is_some();
        let _ = self.changes.send(StoreChange::Entry(kind, key.clone()));
        let answer = self.answer(removed);
        Box::pin(async move { answer })
    }

    fn changes(&self) -> Changes {
        let receiver = self.changes.subscribe();
        let next = |mut receiver: broadcast::Receiver<StoreChange>| async move {
            match receiver.recv().await {
                Ok(change) => Some((change, receiver)),
                Err(broadcast::error::RecvError::Lagged(_)) => Some((StoreChange::All, receiver)),
                Err(broadcast::error::RecvError::Closed) => None,
            }
        };
        futures_util::stream::unfold(receiver, next).boxed()
    }

    fn health(&self) -> Health {
        if self.away.load(Ordering::SeqCst) {
            Health::Away {
                reason: "the test store is away".into(),
            }
        } else {
            Health::Ready
        }
    }
}
