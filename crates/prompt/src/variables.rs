//! Shared variables: only those that a template references are fetched, in one
//! round trip, and each is kept for at most five seconds.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use futures_util::StreamExt;
use quillet_core::store::{Change, Health, Key, Kind, Store, StoreError, StoreErrorKind};
use quillet_core::{Map, Value};
use quillet_template::References;
use tokio::time::Instant;

use crate::compile::Compiled;
use crate::context;
use crate::error::ServiceError;

/// A value older than this is fetched again (seed 000).
const MOST_AGE: Duration = Duration::from_secs(5);

/// While the store is away, old values are served and looked at again after this.
const STALE_AGE: Duration = Duration::from_millis(250);

/// How long to wait before asking a store for its keys again.
const RETRY: Duration = Duration::from_millis(500);

/// Roots of the context that belong to the request: the deployed origin's name
/// and the seed's.
pub(crate) const REQUEST_ROOTS: [&str; 2] = ["args", "variables"];

/// The shared variables of a store, fetched when needed.
#[derive(Debug)]
pub struct Variables {
    store: Arc<dyn Store>,
    keys: RwLock<Keys>,
    cells: RwLock<Cells>,
    /// Counts changes of the set of keys.
    generation: AtomicU64,
    /// Counts changes of values.
    version: AtomicU64,
    /// Renders that found all they reference in the cache.
    hits: AtomicU64,
    /// Questions to the store for values.
    round_trips: AtomicU64,
}

#[derive(Debug, Default)]
struct Keys {
    set: BTreeSet<Key>,
    loaded: bool,
}

#[derive(Debug, Default)]
struct Cells {
    values: HashMap<Key, Cell>,
    /// Keys that are being fetched, by how many.
    fetching: HashMap<Key, usize>,
    /// Of those, the ones that changed meanwhile: what comes back may be old.
    changed: HashSet<Key>,
}

#[derive(Clone, Debug)]
struct Cell {
    /// `None` if the store has no such key.
    value: Option<Value>,
    /// When it stops being good; it is kept after that for when the store is away.
    good_until: Instant,
}

/// What a compiled prompt needs of the shared variables, with the tree that was
/// built last.
#[derive(Debug)]
pub(crate) struct Plan {
    generation: u64,
    version: u64,
    keys: Vec<Key>,
    tree: Map,
    good_until: Instant,
    stale: bool,
}

impl Plan {
    pub(crate) fn keys(&self) -> &[Key] {
        &self.keys
    }
}

/// The tree of shared variables for one render.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shared {
    pub(crate) tree: Map,
    /// Whether the store is away and values may be old.
    pub(crate) stale: bool,
}

impl Variables {
    /// Variables of a store; nothing is fetched yet. See [`Variables::watch`].
    #[must_use]
    pub fn new(store: Arc<dyn Store>) -> Self {
        Variables {
            store,
            keys: RwLock::default(),
            cells: RwLock::default(),
            generation: AtomicU64::new(0),
            version: AtomicU64::new(0),
            hits: AtomicU64::new(0),
            round_trips: AtomicU64::new(0),
        }
    }

    /// Renders that found all the shared variables they reference in the cache.
    #[must_use]
    pub fn hits(&self) -> u64 {
        self.hits.load(Ordering::Relaxed)
    }

    /// How often the store was asked for values.
    #[must_use]
    pub fn round_trips(&self) -> u64 {
        self.round_trips.load(Ordering::Relaxed)
    }

    /// Loads the keys (not the values).
    ///
    /// # Errors
    /// The store does not answer; what was known stays.
    pub async fn load(&self) -> Result<(), StoreError> {
        let keys = self.store.keys(Kind::Environ).await?;
        {
            let mut known = write(&self.keys);
            known.set = keys.into_iter().collect();
            known.loaded = true;
        }
        self.expire_all();
        self.generation.fetch_add(1, Ordering::Release);
        Ok(())
    }

    /// Follows the store's changes for as long as the future is polled.
    pub async fn watch(&self) {
        let mut changes = self.store.changes();
        self.load_until_done().await;
        while let Some(change) = changes.next().await {
            match change {
                Change::Entry(Kind::Environ, key) => self.changed(key),
                Change::Kind(Kind::Environ) | Change::All => self.load_until_done().await,
                Change::Entry(..) | Change::Kind(_) => {}
            }
        }
    }

    async fn load_until_done(&self) {
        while let Err(error) = self.load().await {
            tracing::warn!(%error, "the keys of shared variables could not be loaded; what is known is served");
            tokio::time::sleep(RETRY).await;
        }
    }

    /// A key was written or removed: it may exist now, and its value is old.
    fn changed(&self, key: Key) {
        {
            let mut cells = write(&self.cells);
            if cells.fetching.contains_key(&key) {
                cells.changed.insert(key.clone());
            }
            if let Some(cell) = cells.values.get_mut(&key) {
                cell.good_until = Instant::now();
            }
        }
        if write(&self.keys).set.insert(key) {
            self.generation.fetch_add(1, Ordering::Release);
        }
        self.version.fetch_add(1, Ordering::Release);
    }

    fn expire_all(&self) {
        let mut cells = write(&self.cells);
        let now = Instant::now();
        for cell in cells.values.values_mut() {
            cell.good_until = now;
        }
        cells.changed = cells.fetching.keys().cloned().collect();
        drop(cells);
        self.version.fetch_add(1, Ordering::Release);
    }

    /// Ids of all shared variables that hold a value, sorted.
    ///
    /// # Errors
    /// The keys were never loaded and the store does not answer.
    pub async fn ids(&self) -> Result<Vec<String>, ServiceError> {
        self.ensure_loaded().await?;
        let mut ids: Vec<String> = read(&self.keys).set.iter().map(Key::id).collect();
        ids.sort();
        Ok(ids)
    }

    /// The value of that id, or the tree under it.
    ///
    /// # Errors
    /// There is nothing there, or the store does not answer and nothing is cached.
    pub async fn get(&self, id: &str) -> Result<Value, ServiceError> {
        self.ensure_loaded().await?;
        let (path, keys) = self.find(id);
        if let Some(path) = path {
            let (values, _) = self.fetch(&keys).await?;
            let tree = context::tree(present(&keys, &values));
            if let Some(value) = Value::Map(tree).at(&path) {
                return Ok(value.clone());
            }
        }
        let ids = self.ids().await?;
        Err(ServiceError::not_found(
            Kind::Environ,
            id,
            ids.iter().map(String::as_str),
        ))
    }

    /// The value stored under exactly that key, if there is one; at most five
    /// seconds old, or as it was last seen while the store is away.
    ///
    /// # Errors
    /// The store does not answer and the value was never seen.
    pub async fn stored(&self, key: Key) -> Result<Option<Value>, StoreError> {
        let (values, _) = self.fetch(&[key]).await?;
        Ok(values.into_iter().next().flatten())
    }

    /// An id names the key that maps to it, or the keys below it. Segments may
    /// hold dots themselves (`model:gpt-4.1`), so it is looked up, not split.
    fn find(&self, id: &str) -> (Option<Vec<String>>, Vec<Key>) {
        let keys = read(&self.keys);
        let below = format!("{id}.");
        let matches = |key: &&Key| {
            let own = key.id();
            own == id || own.starts_with(&below)
        };
        let plain = Key::new(id.replace('.', ":"));
        let mut found = covering(
            &keys.set,
            &plain.segments().map(str::to_owned).collect::<Vec<_>>(),
        );
        if found.is_empty() {
            found = keys.set.iter().filter(matches).cloned().collect();
        }
        let Some(first) = found.first() else {
            return (None, found);
        };
        let dots = id.matches('.').count();
        let mut path: Vec<String> = Vec::new();
        if first.id().starts_with(id) {
            let mut length = 0;
            for segment in first.segments() {
                if length >= id.len() {
                    break;
                }
                length += segment.len() + 1;
                path.push(segment.to_owned());
            }
        } else {
            path = id.splitn(dots + 1, '.').map(str::to_owned).collect();
        }
        (Some(path), found)
    }

    async fn ensure_loaded(&self) -> Result<(), StoreError> {
        if read(&self.keys).loaded {
            return Ok(());
        }
        self.load().await
    }

    /// How long ago a value was read; nothing if it is older than it may be.
    pub(crate) fn age(&self, key: &Key) -> Option<Duration> {
        let cells = read(&self.cells);
        let good_until = cells.values.get(key)?.good_until;
        let left = good_until.checked_duration_since(Instant::now())?;
        Some(MOST_AGE.saturating_sub(left))
    }

    /// The shared variables that a compiled prompt references, if all of them
    /// are known and good.
    pub(crate) fn cached(&self, compiled: &Compiled, now: Instant) -> Option<Shared> {
        let plan = compiled.plan.load();
        let plan = plan.as_ref()?;
        let unchanged = plan.generation == self.generation.load(Ordering::Acquire)
            && plan.version == self.version.load(Ordering::Acquire);
        if !unchanged || now >= plan.good_until {
            return None;
        }
        self.hits.fetch_add(1, Ordering::Relaxed);
        Some(Shared {
            tree: plan.tree.clone(),
            stale: plan.stale,
        })
    }

    /// The shared variables that a compiled prompt references, and those of the
    /// names in `also`, fetched where they are not known or not good any more.
    pub(crate) async fn of(
        &self,
        compiled: &Compiled,
        also: &[&str],
    ) -> Result<Shared, StoreError> {
        let generation = self.generation.load(Ordering::Acquire);
        let version = self.version.load(Ordering::Acquire);
        let plan = compiled.plan.load();
        let known = plan.as_ref().filter(|plan| plan.generation == generation);
        let references = compiled.template.references();
        if known.is_none() && (needs_shared(references) || !also.is_empty()) {
            self.ensure_loaded().await?;
        }
        let keys = match known {
            // Tools may have changed, and with them what they take.
            Some(plan) if also.is_empty() => plan.keys.clone(),
            _ => self.keys_of(references, also),
        };
        drop(plan);
        let (values, good_until) = self.fetch(&keys).await?;
        let stale = good_until.is_none();
        let plan = Plan {
            generation,
            version,
            tree: with_flat_names(&keys, &values, references),
            keys,
            good_until: good_until.unwrap_or_else(|| Instant::now() + STALE_AGE),
            stale,
        };
        let shared = Shared {
            tree: plan.tree.clone(),
            stale,
        };
        compiled.plan.store(Some(Arc::new(plan)));
        Ok(shared)
    }

    /// Keys that a template's references can reach, and those of more names.
    fn keys_of(&self, references: &References, also: &[&str]) -> Vec<Key> {
        let keys = read(&self.keys);
        if references.dynamic {
            return keys.set.iter().cloned().collect();
        }
        let mut found = BTreeSet::new();
        for name in also {
            found.extend(covering(&keys.set, &[(*name).to_owned()]));
        }
        for variable in &references.variables {
            let Some(first) = variable.path.first() else {
                continue;
            };
            if REQUEST_ROOTS.contains(&first.as_str()) {
                continue;
            }
            found.extend(covering(&keys.set, &variable.path));
            if first.contains('.') {
                found.extend(keys.set.get(&Key::new(first.replace('.', ":"))).cloned());
            }
        }
        found.into_iter().collect()
    }

    /// Values of these keys, from the cache where they are good and from the
    /// store, in one round trip, where they are not. The time is until when all
    /// of them are good; `None` means that the store is away and some are old.
    async fn fetch(
        &self,
        keys: &[Key],
    ) -> Result<(Vec<Option<Value>>, Option<Instant>), StoreError> {
        let now = Instant::now();
        let old: Vec<Key> = {
            let cells = read(&self.cells);
            let is_old = |key: &&Key| {
                cells
                    .values
                    .get(*key)
                    .is_none_or(|cell| cell.good_until <= now)
            };
            keys.iter().filter(is_old).cloned().collect()
        };
        let mut away = None;
        if !old.is_empty() {
            match self.fetch_now(&old).await {
                Ok(()) => {}
                Err(error) => away = Some(error),
            }
        }
        let cells = read(&self.cells);
        let mut good_until = now + MOST_AGE;
        let mut values = Vec::with_capacity(keys.len());
        for key in keys {
            match (cells.values.get(key), &away) {
                (Some(cell), _) => {
                    good_until = good_until.min(cell.good_until);
                    values.push(cell.value.clone());
                }
                (None, Some(error)) => return Err(error.clone()),
                (None, None) => values.push(None),
            }
        }
        Ok((values, away.is_none().then_some(good_until)))
    }

    async fn fetch_now(&self, keys: &[Key]) -> Result<(), StoreError> {
        if let Health::Away { reason } = self.store.health()
            && self.knows_all(keys)
        {
            return Err(StoreError::new(StoreErrorKind::Unavailable, reason));
        }
        let fetching = Fetching::begin(self, keys);
        let started = Instant::now();
        self.round_trips.fetch_add(1, Ordering::Relaxed);
        let texts = self.store.get(Kind::Environ, keys).await?;
        let values: Vec<Option<Value>> = keys
            .iter()
            .zip(texts)
            .map(|(key, text)| text.map(|text| context::read(key, &text)))
            .collect();
        self.forget_absent(keys, &values);
        fetching.end(values, started + MOST_AGE);
        Ok(())
    }

    fn knows_all(&self, keys: &[Key]) -> bool {
        let cells = read(&self.cells);
        keys.iter().all(|key| cells.values.contains_key(key))
    }

    fn forget_absent(&self, keys: &[Key], values: &[Option<Value>]) {
        let absent: Vec<&Key> = keys
            .iter()
            .zip(values)
            .filter(|(_, value)| value.is_none())
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
struct Fetching<'a> {
    variables: &'a Variables,
    keys: &'a [Key],
}

impl<'a> Fetching<'a> {
    fn begin(variables: &'a Variables, keys: &'a [Key]) -> Self {
        let mut cells = write(&variables.cells);
        for key in keys {
            *cells.fetching.entry(key.clone()).or_default() += 1;
        }
        Fetching { variables, keys }
    }

    fn end(self, values: Vec<Option<Value>>, good_until: Instant) {
        let mut cells = write(&self.variables.cells);
        for (key, value) in self.keys.iter().zip(values) {
            let good_until = match cells.changed.contains(key) {
                true => Instant::now(),
                false => good_until,
            };
            cells.values.insert(key.clone(), Cell { value, good_until });
        }
    }
}

impl Drop for Fetching<'_> {
    fn drop(&mut self) {
        let mut cells = write(&self.variables.cells);
        for key in self.keys {
            let Some(count) = cells.fetching.get_mut(key) else {
                continue;
            };
            *count -= 1;
            if *count == 0 {
                cells.fetching.remove(key);
                cells.changed.remove(key);
            }
        }
    }
}

/// The keys on the way to a path, at it and below it.
fn covering(keys: &BTreeSet<Key>, path: &[String]) -> Vec<Key> {
    let mut found = Vec::new();
    let mut text = String::new();
    for segment in path {
        if !text.is_empty() {
            text.push(':');
        }
        text.push_str(segment);
        found.extend(keys.get(&Key::new(text.as_str())).cloned());
    }
    text.push(':');
    let below = keys
        .range(Key::new(text.as_str())..)
        .take_while(|key| key.as_str().starts_with(&text));
    found.extend(below.cloned());
    found
}

fn needs_shared(references: &References) -> bool {
    let shared = |path: &[String]| {
        path.first()
            .is_some_and(|root| !REQUEST_ROOTS.contains(&root.as_str()))
    };
    references.dynamic
        || references
            .variables
            .iter()
            .any(|variable| shared(&variable.path))
}

fn present<'a>(
    keys: &'a [Key],
    values: &'a [Option<Value>],
) -> impl Iterator<Item = (&'a Key, &'a Value)> {
    keys.iter()
        .zip(values)
        .filter_map(|(key, value)| Some((key, value.as_ref()?)))
}

/// The tree, and under its whole id every variable that a template names so
/// (`index . "vscode.lang"`), as the deployed origin has it.
fn with_flat_names(keys: &[Key], values: &[Option<Value>], references: &References) -> Map {
    let tree = context::tree(present(keys, values));
    let flat: Vec<&str> = references
        .variables
        .iter()
        .filter_map(|variable| variable.path.first().map(String::as_str))
        .filter(|name| name.contains('.') && tree.get(name).is_none())
        .collect();
    if flat.is_empty() {
        return tree;
    }
    let mut table = tree.to_table();
    for (key, value) in present(keys, values) {
        let id = key.id();
        if flat.contains(&id.as_str()) {
            table.insert(id.into(), value.clone());
        }
    }
    Map::new(table)
}

// A thread that panicked while it held the lock left whole entries behind: the
// tables are changed by single inserts and removals.
fn read<T>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

fn write<T>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}
