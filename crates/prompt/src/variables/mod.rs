//! Shared variables. Only those that a template references are fetched, in one round trip, and each
//! is cached for at most five seconds. If the store is slow, renders wait briefly and then use
//! cached values while one read continues in the background.

mod cache;
mod plan;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use quillet_core::store::{
    EntryKey, EntryKind, Health, Store, StoreChange, StoreEntry, StoreError, StoreErrorKind,
};
use quillet_core::{Diagnostic, Map, Value};
use quillet_template::References;
use tokio::time::Instant;

use self::cache::{Cache, MOST_AGE, PROMPT, SLOW};
use self::plan::BrokenVariables;
pub(crate) use self::plan::VariablePlan;
use crate::compile::CompiledPrompt;
use crate::context::{self, REQUEST_ROOTS};
use crate::error::ServiceError;
use crate::follow::SyncRequests;
use quillet_core::lock::{read, write};

/// While the store is unavailable, stale values are used and checked again after this time.
const STALE_AGE: Duration = Duration::from_millis(250);

/// Delay before a failed load of the keys is retried.
const RETRY: Duration = Duration::from_millis(500);

/// Shared variables of a store, fetched when needed.
#[derive(Debug)]
pub struct Variables {
    cache: Arc<Cache>,
    patience: Duration,
    asks: SyncRequests,
    /// Renders that found all referenced variables in the cache.
    hits: AtomicU64,
}

/// The tree of shared variables for one render.
#[derive(Clone, Debug, Default)]
pub(crate) struct SharedVariables {
    pub(crate) tree: Map,
    broken: BrokenVariables,
    /// Whether values may be outdated because the store is slow or unavailable.
    pub(crate) stale: bool,
}

/// Fetched values, each with its error if it is invalid.
struct FetchedValues {
    cells: Vec<(Option<Value>, Option<Arc<Diagnostic>>)>,
    /// Earliest expiry of the values; `None` if the store is unavailable and some values are stale.
    good_until: Option<Instant>,
}

impl FetchedValues {
    fn present<'a>(
        &'a self,
        keys: &'a [EntryKey],
    ) -> impl Iterator<Item = (&'a EntryKey, &'a Value)> {
        let pairs = keys.iter().zip(&self.cells);
        pairs.filter_map(|(key, (value, _))| Some((key, value.as_ref()?)))
    }

    fn broken(&self, keys: &[EntryKey]) -> BrokenVariables {
        let pairs = keys.iter().zip(&self.cells);
        let broken = pairs.filter_map(|(key, (_, problem))| Some((key.id(), problem.clone()?)));
        let broken: Vec<_> = broken.collect();
        (!broken.is_empty()).then(|| broken.into())
    }
}

impl SharedVariables {
    /// Explains an error about a missing variable. A variable with an invalid value is not missing,
    /// so its own error is reported.
    pub(crate) fn explain(&self, error: ServiceError) -> ServiceError {
        let (ServiceError::Missing { names, .. }, Some(broken)) = (&error, &self.broken) else {
            return error;
        };
        let covers = |id: &str, name: &str| {
            let below = |one: &str, other: &str| {
                let rest = one.strip_prefix(other);
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
            };
            below(name, id) || below(id, name)
        };
        let used = |(id, _): &&(String, _)| names.iter().any(|name| covers(id, name));
        let used: Vec<_> = broken.iter().filter(used).collect();
        match used.first() {
            Some((id, _)) => unusable(id, used.iter().map(|(_, problem)| problem)),
            None => error,
        }
    }
}

fn unusable<'a>(id: &str, problems: impl Iterator<Item = &'a Arc<Diagnostic>>) -> ServiceError {
    ServiceError::Invalid {
        kind: EntryKind::Environ,
        id: id.to_owned(),
        diagnostics: problems.map(|problem| (**problem).clone()).collect(),
    }
}

impl Variables {
    /// Default time to wait for the store when a cached value is available.
    pub const PATIENCE: Duration = Duration::from_millis(75);

    /// Creates the shared variables of a store without fetching any. See [`Variables::watch`].
    #[must_use]
    pub fn new(store: Arc<dyn Store>) -> Self {
        Variables {
            cache: Arc::new(Cache::new(store)),
            patience: Self::PATIENCE,
            asks: SyncRequests::default(),
            hits: AtomicU64::new(0),
        }
    }

    /// Sets the time to wait for the store when a cached value is available. The default is 75 ms.
    #[must_use]
    pub fn with_patience(self, patience: Duration) -> Self {
        Variables { patience, ..self }
    }

    /// Returns the number of renders that found all referenced shared variables in the cache.
    #[must_use]
    pub fn hits(&self) -> u64 {
        self.hits.load(Ordering::Relaxed)
    }

    /// Returns the number of reads from the store.
    #[must_use]
    pub fn round_trips(&self) -> u64 {
        self.cache.round_trips.load(Ordering::Relaxed)
    }

    /// Loads the keys (not the values).
    ///
    /// # Errors
    /// The store is unavailable. Known keys are kept.
    pub async fn load(&self) -> Result<(), StoreError> {
        let keys = self.cache.store.keys(EntryKind::Environ).await?;
        {
            let mut known = write(&self.cache.keys);
            known.set = keys.into_iter().collect();
            known.loaded = true;
        }
        self.expire_all();
        // Incremented after the keys are set, so that readers of the new number see them.
        self.cache.generation.fetch_add(1, Ordering::Release);
        Ok(())
    }

    /// Applies store changes for as long as the future is polled.
    pub async fn watch(&self) {
        // Subscribed before the keys are loaded, so that no change is missed.
        let mut follower = self.asks.follow(self.cache.store.changes()).await;
        self.load_until_done().await;
        while let Some(changes) = follower.next().await {
            for change in changes {
                match change {
                    StoreChange::Entry(EntryKind::Environ, key) => self.changed(key),
                    StoreChange::Kind(EntryKind::Environ) | StoreChange::All => {
                        self.load_until_done().await
                    }
                    StoreChange::Entry(..) | StoreChange::Kind(_) => {}
                }
            }
        }
    }

    /// Waits until every change that the store reported before this call is applied.
    ///
    /// # Errors
    /// There is no follower and the store is unavailable.
    pub(crate) async fn caught_up(&self) -> Result<(), StoreError> {
        if self.asks.is_caught_up().await {
            Ok(())
        } else {
            self.load().await
        }
    }

    /// Returns all stored shared variables, including those with an invalid value.
    ///
    /// # Errors
    /// The store is unavailable.
    pub async fn entries(&self) -> Result<Vec<StoreEntry>, StoreError> {
        self.cache.store.load(EntryKind::Environ).await
    }

    fn is_away(&self) -> bool {
        matches!(self.cache.store.health(), Health::Away { .. })
    }

    async fn load_until_done(&self) {
        while let Err(error) = self.load().await {
            tracing::warn!(
                %error,
                "cannot load the keys of shared variables; serving the known ones"
            );
            tokio::time::sleep(RETRY).await;
        }
    }

    /// Handles a written or removed key: the key may be new, and its cached value is outdated.
    fn changed(&self, key: EntryKey) {
        {
            let mut cells = write(&self.cache.cells);
            // A fetch in progress may return the value from before the change.
            if cells.fetching.contains_key(&key) {
                cells.changed.insert(key.clone());
            }
            if let Some(cell) = cells.values.get_mut(&key) {
                cell.good_until = Instant::now();
            }
        }
        if write(&self.cache.keys).set.insert(key) {
            self.cache.generation.fetch_add(1, Ordering::Release);
        }
        self.cache.version.fetch_add(1, Ordering::Release);
    }

    fn expire_all(&self) {
        let mut cells = write(&self.cache.cells);
        let now = Instant::now();
        for cell in cells.values.values_mut() {
            cell.good_until = now;
        }
        // A fetch in progress may also return an outdated value.
        cells.changed = cells.fetching.keys().cloned().collect();
        drop(cells);
        self.cache.version.fetch_add(1, Ordering::Release);
    }

    /// Returns the sorted ids of all shared variables that have a value.
    ///
    /// # Errors
    /// The keys were never loaded and the store is unavailable.
    pub async fn ids(&self) -> Result<Vec<String>, ServiceError> {
        self.ensure_loaded().await?;
        let mut ids: Vec<String> = read(&self.cache.keys)
            .set
            .iter()
            .map(EntryKey::id)
            .collect();
        ids.sort();
        Ok(ids)
    }

    /// Returns the value with this id, or the tree of values below it.
    ///
    /// # Errors
    /// There is no such value, or the store is unavailable and nothing is cached.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use quillet_core::{Map, Message, Role, Value};
    /// # use quillet_core::store::{EntryKey, EntryKind, Store};
    /// # use quillet_core::tool::Tool;
    /// # use quillet_prompt::*;
    /// # use quillet_store::MemoryStore;
    /// # use quillet_template::TemplateFactory;
    /// # use quillet_test_support::EchoTools;
    /// # let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    /// # runtime.unwrap().block_on(async {
    /// # let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    /// store.put(EntryKind::Environ, &EntryKey::new("editor:language"), r#""go""#).await.unwrap();
    /// let variables = Variables::new(store);
    /// variables.load().await.unwrap();
    /// assert_eq!(variables.get("editor.language").await.unwrap(), Value::from("go"));
    /// assert_eq!(variables.ids().await.unwrap(), ["editor.language"]);
    /// # });
    /// ```
    pub async fn get(&self, id: &str) -> Result<Value, ServiceError> {
        self.ensure_loaded().await?;
        let (path, keys) = self.find(id);
        if let Some(path) = path {
            let fetched = self.fetch(&keys).await?;
            let broken = fetched.broken(&keys);
            let broken = broken.iter().flat_map(|broken| broken.iter());
            let mut own = broken
                .clone()
                .filter(|(of, _)| of == id)
                .map(|(_, problem)| problem)
                .peekable();
            if own.peek().is_some() {
                return Err(unusable(id, own));
            }
            let tree = context::tree(fetched.present(&keys));
            if let Some(value) = Value::Map(tree).get_path(&path) {
                return Ok(value.clone());
            }
            let mut below = broken.map(|(_, problem)| problem).peekable();
            if below.peek().is_some() {
                return Err(unusable(id, below));
            }
        }
        let ids = self.ids().await?;
        Err(ServiceError::not_found(
            EntryKind::Environ,
            id,
            ids.iter().map(String::as_str),
        ))
    }

    /// Returns the value stored under exactly this key. It is at most five seconds old, or the last
    /// known value while the store is unavailable.
    ///
    /// # Errors
    /// The store is unavailable and the value is not cached.
    pub async fn stored(&self, key: EntryKey) -> Result<Option<Value>, StoreError> {
        let fetched = self.fetch(&[key]).await?;
        Ok(fetched
            .cells
            .into_iter()
            .next()
            .and_then(|(value, _)| value))
    }

    /// Finds the keys of an id: the key that maps to it, and those below it. Segments may contain
    /// dots (`model:gpt-4.1`), so the id cannot simply be split.
    fn find(&self, id: &str) -> (Option<Vec<String>>, Vec<EntryKey>) {
        let keys = read(&self.cache.keys);
        let below = format!("{id}.");
        let matches = |key: &&EntryKey| {
            let own = key.id();
            own == id || own.starts_with(&below)
        };
        let plain = EntryKey::new(id.replace('.', ":"));
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
        if read(&self.cache.keys).loaded {
            return Ok(());
        }
        self.load().await
    }

    /// Returns the age of a cached value, or `None` if it has expired.
    pub(crate) fn age(&self, key: &EntryKey) -> Option<Duration> {
        let cells = read(&self.cache.cells);
        let good_until = cells.values.get(key)?.good_until;
        let left = good_until.checked_duration_since(Instant::now())?;
        Some(MOST_AGE.saturating_sub(left))
    }

    /// Returns the shared variables of a compiled prompt if all of them are cached and current.
    pub(crate) fn cached(
        &self,
        compiled: &CompiledPrompt,
        now: Instant,
    ) -> Option<SharedVariables> {
        let plan = compiled.plan.load();
        let plan = plan.as_ref()?;
        let unchanged = plan.generation == self.cache.generation.load(Ordering::Acquire)
            && plan.version == self.cache.version.load(Ordering::Acquire);
        if !unchanged || now >= plan.good_until {
            return None;
        }
        self.hits.fetch_add(1, Ordering::Relaxed);
        Some(SharedVariables {
            tree: plan.tree.clone(),
            broken: plan.broken.clone(),
            stale: plan.stale || (!plan.keys.is_empty() && self.is_away()),
        })
    }

    /// Returns the shared variables that a compiled prompt references and those named in `also`.
    /// Fetches the ones that are not cached or have expired.
    pub(crate) async fn of(
        &self,
        compiled: &CompiledPrompt,
        also: &[&str],
    ) -> Result<SharedVariables, StoreError> {
        // The number is read before the fetch. If a change occurs during the fetch, the plan is
        // outdated, and the older number makes this visible.
        let generation = self.cache.generation.load(Ordering::Acquire);
        let version = self.cache.version.load(Ordering::Acquire);
        let plan = compiled.plan.load();
        let known = plan.as_ref().filter(|plan| plan.generation == generation);
        let references = compiled.template.references();
        if known.is_none() && (needs_shared(references) || !also.is_empty()) {
            self.ensure_loaded().await?;
        }
        let keys = match known {
            // With `also`, the keys are computed again, because the parameters of tools may have
            // changed.
            Some(plan) if also.is_empty() => plan.keys.clone(),
            _ => self.keys_of(references, also),
        };
        // The plan is dropped before the store is read, because a guard of `arc-swap` occupies one
        // of its thread's few fast slots.
        drop(plan);
        let fetched = self.fetch(&keys).await?;
        let stale = fetched.good_until.is_none();
        let plan = VariablePlan {
            generation,
            version,
            tree: with_flat_names(&keys, &fetched, references),
            broken: fetched.broken(&keys),
            keys,
            good_until: fetched
                .good_until
                .unwrap_or_else(|| Instant::now() + STALE_AGE),
            stale,
        };
        let shared = SharedVariables {
            tree: plan.tree.clone(),
            broken: plan.broken.clone(),
            stale,
        };
        // Concurrent renders may overwrite each other. That is safe, because each plan includes the
        // numbers for which it is valid.
        compiled.plan.store(Some(Arc::new(plan)));
        Ok(shared)
    }

    /// Returns the keys that a template's references and the names in `also` can reach.
    fn keys_of(&self, references: &References, also: &[&str]) -> Vec<EntryKey> {
        let keys = read(&self.cache.keys);
        // A template with computed names can access any variable.
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
            // The names belong to the request, whose variables hide shared ones.
            if REQUEST_ROOTS.contains(&first.as_str()) {
                continue;
            }
            found.extend(covering(&keys.set, &variable.path));
            // Templates may refer to a variable by its complete id, such as `vscode.lang`.
            if first.contains('.') {
                found.extend(
                    keys.set
                        .get(&EntryKey::new(first.replace('.', ":")))
                        .cloned(),
                );
            }
        }
        found.into_iter().collect()
    }

    /// Returns the values of these keys. Values that are not cached or have expired are fetched in
    /// one round trip.
    async fn fetch(&self, keys: &[EntryKey]) -> Result<FetchedValues, StoreError> {
        let now = Instant::now();
        let old: Vec<EntryKey> = {
            let cells = read(&self.cache.cells);
            let is_old = |key: &&EntryKey| {
                cells
                    .values
                    .get(*key)
                    .is_none_or(|cell| cell.good_until <= now)
            };
            keys.iter().filter(is_old).cloned().collect()
        };
        let away = if old.is_empty() {
            None
        } else {
            self.refresh(old).await.err()
        };
        let known = read(&self.cache.cells);
        let mut good_until = now + MOST_AGE;
        let mut cells = Vec::with_capacity(keys.len());
        for key in keys {
            match (known.values.get(key), &away) {
                (Some(cell), _) => {
                    good_until = good_until.min(cell.good_until);
                    cells.push((cell.value.clone(), cell.problem.clone()));
                }
                // A render fails only if a value was never cached. Otherwise stale values are used.
                (None, Some(error)) => return Err(error.clone()),
                (None, None) => cells.push((None, None)),
            }
        }
        Ok(FetchedValues {
            cells,
            good_until: away.is_none().then_some(good_until),
        })
    }

    /// Fetches expired values. If all of them are cached, this waits for the store only briefly, or
    /// not at all while the store is slow. One read at a time then continues in the background.
    async fn refresh(&self, old: Vec<EntryKey>) -> Result<(), StoreError> {
        let cache = &self.cache;
        // There are no cached values to use, so the caller waits for the store.
        if !cache.knows_all(&old) {
            return cache.clone().ask(old).await;
        }
        // If the store is known to be unavailable, a read would only take time.
        if let Health::Away { reason } = cache.store.health() {
            return Err(StoreError::new(StoreErrorKind::Unavailable, reason));
        }
        let late = || {
            let message = format!("{} did not answer in time", cache.store.describe());
            StoreError::new(StoreErrorKind::Unavailable, message)
        };
        if cache.pace.load(Ordering::Acquire) == PROMPT {
            let mut asking = cache.clone().ask(old);
            // The read is polled by reference, so that it can continue in the background after a
            // timeout.
            if let Ok(answer) = tokio::time::timeout(self.patience, &mut asking).await {
                return answer;
            }
            if cache.begins_behind(PROMPT) {
                tracing::warn!(
                    store = %cache.store.describe(),
                    "the store is slow; serving known values"
                );
                tokio::spawn(cache.clone().fetch_in_background(asking));
            }
        } else if cache.begins_behind(SLOW) {
            let asking = cache.clone().ask(old);
            tokio::spawn(cache.clone().fetch_in_background(asking));
        }
        // The caller uses cached values, and the result is for later renders.
        Err(late())
    }
}

/// Returns the keys at, above and below a path.
fn covering(keys: &BTreeSet<EntryKey>, path: &[String]) -> Vec<EntryKey> {
    let mut found = Vec::new();
    let mut text = String::new();
    for segment in path {
        if !text.is_empty() {
            text.push(':');
        }
        text.push_str(segment);
        found.extend(keys.get(&EntryKey::new(text.as_str())).cloned());
    }
    text.push(':');
    // Keys are sorted, so those below the path are one contiguous range.
    let below = keys
        .range(EntryKey::new(text.as_str())..)
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

/// Adds each variable that a template refers to by its complete id (`index . "vscode.lang"`).
/// Templates written for ai-prompt-shell use both notations.
fn with_flat_names(keys: &[EntryKey], fetched: &FetchedValues, references: &References) -> Map {
    let tree = context::tree(fetched.present(keys));
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
    for (key, value) in fetched.present(keys) {
        let id = key.id();
        if flat.contains(&id.as_str()) {
            table.insert(id.into(), value.clone());
        }
    }
    Map::new(table)
}
