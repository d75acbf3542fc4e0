//! Values that were read, and questions to the store for others.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, RwLock};
use std::time::Duration;

use quillet_core::lock::{read, write};
use quillet_core::store::{EntryKey, EntryKind, Store, StoreEntry, StoreError};
use quillet_core::{BoxFuture, Diagnostic, Value};
use tokio::time::Instant;

use crate::context;

/// A value older than this is fetched again, as ai-prompt-shell documents. A change that the store
/// reports ends it earlier (`Variables::changed`).
pub(super) const MOST_AGE: Duration = Duration::from_secs(5);

/// Timeout of a background read, after which it is repeated.
const LONGEST_QUESTION: Duration = Duration::from_secs(5);

/// Known values, and the store behind them.
#[derive(Debug)]
pub(super) struct Cache {
    pub(super) store: Arc<dyn Store>,
    /// Whether the store answers in time: [`PROMPT`], [`ASKED`] or [`SLOW`].
    pub(super) pace: AtomicU8,
    pub(super) keys: RwLock<KeySet>,
    pub(super) cells: RwLock<Cells>,
    /// Counts changes of the set of keys.
    pub(super) generation: AtomicU64,
    /// Counts changes of values.
    pub(super) version: AtomicU64,
    /// Questions to the store for values.
    pub(super) round_trips: AtomicU64,
}

#[derive(Debug, Default)]
pub(super) struct KeySet {
    pub(super) set: BTreeSet<EntryKey>,
    pub(super) loaded: bool,
}

#[derive(Debug, Default)]
pub(super) struct Cells {
    pub(super) values: HashMap<EntryKey, CachedValue>,
    /// Keys that are being fetched, by how many.
    pub(super) fetching: HashMap<EntryKey, usize>,
    /// Of those, the ones that changed meanwhile: what comes back may be old.
    pub(super) changed: HashSet<EntryKey>,
}

#[derive(Clone, Debug)]
pub(super) struct CachedValue {
    /// `None` if the store has no such key, or nothing that is a value.
    pub(super) value: Option<Value>,
    /// Why what is there is no value.
    pub(super) problem: Option<Arc<Diagnostic>>,
    /// When it stops being good; it is kept after that for when the store is away.
    pub(super) good_until: Instant,
}

/// The store answered in time when it was asked last.
pub(super) const PROMPT: u8 = 0;
/// It did not, and a question is on its way.
const ASKED: u8 = 1;
/// It did not, and whoever needs a value is to ask in the background.
pub(super) const SLOW: u8 = 2;

impl Cache {
    pub(super) fn new(store: Arc<dyn Store>) -> Self {
        Cache {
            store,
            pace: AtomicU8::new(PROMPT),
            keys: RwLock::default(),
            cells: RwLock::default(),
            generation: AtomicU64::new(0),
            version: AtomicU64::new(0),
            round_trips: AtomicU64::new(0),
        }
    }

    /// Whether this is the one question that is asked in the background.
    pub(super) fn begins_behind(&self, pace: u8) -> bool {
        let begun = self
            .pace
            .compare_exchange(pace, ASKED, Ordering::AcqRel, Ordering::Acquire);
        begun.is_ok()
    }

    /// Waits for an answer in the background, when others have been served without it.
    pub(super) async fn fetch_in_background(
        self: Arc<Self>,
        asking: BoxFuture<'static, Result<(), StoreError>>,
    ) {
        match tokio::time::timeout(LONGEST_QUESTION, asking).await {
            Ok(Ok(())) => {
                self.pace.store(PROMPT, Ordering::Release);
                // Plans that were made without this answer are made again.
                self.version.fetch_add(1, Ordering::Release);
            }
            // The next reader that needs a value asks again.
            _ => self.pace.store(SLOW, Ordering::Release),
        }
    }

    pub(super) fn ask(
        self: Arc<Self>,
        keys: Vec<EntryKey>,
    ) -> BoxFuture<'static, Result<(), StoreError>> {
        Box::pin(async move {
            let fetching = FetchGuard::begin(&self, &keys);
            let started = Instant::now();
            self.round_trips.fetch_add(1, Ordering::Relaxed);
            let entries = self.store.entries(EntryKind::Environ, &keys).await?;
            self.forget_absent(&keys, &entries);
            let value = |(key, entry): (&EntryKey, Option<StoreEntry>)| match entry {
                None => (None, None),
                Some(StoreEntry {
                    problem: Some(problem),
                    ..
                }) => {
                    tracing::warn!(%problem, "a shared variable cannot be used");
                    (None, Some(Arc::new(problem)))
                }
                Some(entry) => (Some(context::read(key, &entry.text)), None),
            };
            let values = keys.iter().zip(entries).map(value).collect();
            // Counted from the question: the store may have read the values right after it.
            fetching.end(values, started + MOST_AGE);
            Ok(())
        })
    }

    pub(super) fn knows_all(&self, keys: &[EntryKey]) -> bool {
        let cells = read(&self.cells);
        keys.iter().all(|key| cells.values.contains_key(key))
    }

    fn forget_absent(&self, keys: &[EntryKey], entries: &[Option<StoreEntry>]) {
        let pairs = keys.iter().zip(entries);
        let absent: Vec<&EntryKey> = pairs
            .filter(|(_, entry)| entry.is_none())
            .map(|(key, _)| key)
            .collect();
        if absent.is_empty() {
            return;
        }
        let mut known = write(&self.keys);
        let mut removed = false;
        for key in absent {
            removed |= known.set.remove(key);
        }
        drop(known);
        if removed {
            self.generation.fetch_add(1, Ordering::Release);
        }
    }
}

/// Marks keys as being fetched, so that a change in the meantime is noticed;
/// takes the mark back also when the fetch is given up.
struct FetchGuard<'a> {
    cache: &'a Cache,
    keys: &'a [EntryKey],
}

impl<'a> FetchGuard<'a> {
    fn begin(cache: &'a Cache, keys: &'a [EntryKey]) -> Self {
        let mut cells = write(&cache.cells);
        for key in keys {
            *cells.fetching.entry(key.clone()).or_default() += 1;
        }
        FetchGuard { cache, keys }
    }

    fn end(self, values: Vec<(Option<Value>, Option<Arc<Diagnostic>>)>, good_until: Instant) {
        let mut cells = write(&self.cache.cells);
        for (key, (value, problem)) in self.keys.iter().zip(values) {
            // The value may be from before the change: it is used now and fetched again next time.
            let good_until = if cells.changed.contains(key) {
                Instant::now()
            } else {
                good_until
            };
            let cell = CachedValue {
                value,
                problem,
                good_until,
            };
            cells.values.insert(key.clone(), cell);
        }
    }
}

impl Drop for FetchGuard<'_> {
    fn drop(&mut self) {
        let mut cells = write(&self.cache.cells);
        for key in self.keys {
            let Some(count) = cells.fetching.get_mut(key) else {
                continue;
            };
            *count -= 1;
            if *count == 0 {
                cells.fetching.remove(key);
                // Removed with the last fetch: until then another one may return an old value.
                cells.changed.remove(key);
            }
        }
    }
}
