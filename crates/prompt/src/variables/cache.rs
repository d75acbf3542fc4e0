//! Cache of shared variables, and the reads that fill it.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, RwLock};
use std::time::Duration;

use quillet_core::lock::{read, write};
use quillet_core::store::{EntryKey, EntryKind, Store, StoreEntry, StoreError};
use quillet_core::{BoxFuture, Diagnostic, Value};
use tokio::time::Instant;

use crate::context;

/// Maximum age of a cached value, as documented by ai-prompt-shell. A change that the store reports
/// invalidates the value earlier (`Variables::changed`).
pub(super) const MOST_AGE: Duration = Duration::from_secs(5);

/// Timeout of a background read. The next reader retries.
const LONGEST_QUESTION: Duration = Duration::from_secs(5);

/// Cached values and their store.
#[derive(Debug)]
pub(super) struct Cache {
    pub(super) store: Arc<dyn Store>,
    /// Whether the store responds in time: [`PROMPT`], [`ASKED`] or [`SLOW`].
    pub(super) pace: AtomicU8,
    pub(super) keys: RwLock<KeySet>,
    pub(super) cells: RwLock<Cells>,
    /// Incremented when the set of keys changes.
    pub(super) generation: AtomicU64,
    /// Incremented when values change.
    pub(super) version: AtomicU64,
    /// Number of reads from the store.
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
    /// Number of fetches in progress for each key.
    pub(super) fetching: HashMap<EntryKey, usize>,
    /// Fetched keys that changed in the meantime, so the result may be outdated.
    pub(super) changed: HashSet<EntryKey>,
}

#[derive(Clone, Debug)]
pub(super) struct CachedValue {
    /// `None` if the key does not exist or its text is invalid.
    pub(super) value: Option<Value>,
    /// Error of an invalid value.
    pub(super) problem: Option<Arc<Diagnostic>>,
    /// Expiry of the value. An expired value is still used while the store is unavailable.
    pub(super) good_until: Instant,
}

/// The last read completed in time.
pub(super) const PROMPT: u8 = 0;
/// The last read was slow, and a background read is in progress.
const ASKED: u8 = 1;
/// The last read was slow. The next reader starts a background read.
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

    /// Claims the right to start the background read, of which there is at most one.
    pub(super) fn begins_behind(&self, pace: u8) -> bool {
        let begun = self
            .pace
            .compare_exchange(pace, ASKED, Ordering::AcqRel, Ordering::Acquire);
        begun.is_ok()
    }

    /// Completes a read in the background after its callers were served cached values.
    pub(super) async fn fetch_in_background(
        self: Arc<Self>,
        asking: BoxFuture<'static, Result<(), StoreError>>,
    ) {
        match tokio::time::timeout(LONGEST_QUESTION, asking).await {
            Ok(Ok(())) => {
                self.pace.store(PROMPT, Ordering::Release);
                // Invalidates plans that were built without this result.
                self.version.fetch_add(1, Ordering::Release);
            }
            // The next reader that needs a value retries.
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
            // Measured from the start of the read, because the store may have read the values right
            // then.
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

/// Marks keys as being fetched, so that concurrent changes are noticed. The mark is removed on
/// drop, so cancelled fetches are covered.
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
            // The value may be from before the change. It is used once and fetched again next time.
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
                // Cleared by the last fetch, because any other one may still return an outdated
                // value.
                cells.changed.remove(key);
            }
        }
    }
}
