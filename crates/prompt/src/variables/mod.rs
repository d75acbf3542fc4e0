//! Shared variables: only those that a template references are fetched, in one round trip, and each
//! is cached for at most five seconds. A store that takes its time is waited for a moment; then
//! what is known is served, and one question goes on in the background.

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

/// While the store is away, old values are served and looked at again after this.
const STALE_AGE: Duration = Duration::from_millis(250);

/// How long to wait before asking a store for its keys again.
const RETRY: Duration = Duration::from_millis(500);

/// The shared variables of a store, fetched when needed.
#[derive(Debug)]
pub struct Variables {
    cache: Arc<Cache>,
    patience: Duration,
    asks: SyncRequests,
    /// Renders that found all they reference in the cache.
    hits: AtomicU64,
}

/// The tree of shared variables for one render.
#[derive(Clone, Debug, Default)]
pub(crate) struct SharedVariables {
    pub(crate) tree: Map,
    broken: BrokenVariables,
    /// Whether the store is away, or slow, and values may be old.
    pub(crate) stale: bool,
}

/// Values that were fetched, each with what is wrong with it.
struct FetchedValues {
    cells: Vec<(Option<Value>, Option<Arc<Diagnostic>>)>,
    /// Until when all of them are good; `None` if the store does not answer and some are old.
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
    /// A variable that is there and cannot be used is not missing: its own error says why.
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
    /// How long a store is waited for where a value is known that can be served instead.
    pub const PATIENCE: Duration = Duration::from_millis(75);

    /// Variables of a store; nothing is fetched yet. See [`Variables::watch`].
    #[must_use]
    pub fn new(store: Arc<dyn Store>) -> Self {
        Variables {
            cache: Arc::new(Cache::new(store)),
            patience: Self::PATIENCE,
            asks: SyncRequests::default(),
            hits: AtomicU64::new(0),
        }
    }

    /// The same, with another time for which the store is waited for where a value is known
    /// that can be served instead; 75 ms.
    #[must_use]
    pub fn with_patience(self, patience: Duration) -> Self {
        Variables { patience, ..self }
    }

    /// Renders that found all the shared variables they reference in the cache.
    #[must_use]
    pub fn hits(&self) -> u64 {
        self.hits.load(Ordering::Relaxed)
    }

    /// How often the store was asked for values.
    #[must_use]
    pub fn round_trips(&self) -> u64 {
        self.cache.round_trips.load(Ordering::Relaxed)
    }

    /// Loads the keys (not the values).
    ///
    /// # Errors
    /// The store does not answer; what was known stays.
    pub async fn load(&self) -> Result<(), StoreError> {
        let keys = self.cache.store.keys(EntryKind::Environ).await?;
        {
            let mut known = write(&self.cache.keys);
            known.set = keys.into_iter().collect();
            known.loaded = true;
        }
        self.expire_all();
        // After the keys are set: whoever reads the new number finds them.
        self.cache.generation.fetch_add(1, Ordering::Release);
        Ok(())
    }

    /// Follows the store's changes for as long as the future is polled.
    pub async fn watch(&self) {
        // Before the keys are loaded, so that no change falls between.
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

    /// Waits until every change that the store has reported before this was called is known.
    ///
    /// # Errors
    /// Nobody follows, and the store does not answer.
    pub(crate) async fn caught_up(&self) -> Result<(), StoreError> {
        if self.asks.is_caught_up().await {
            Ok(())
        } else {
            self.load().await
        }
    }

    /// Every shared variable as it is stored, even where it holds no value.
    ///
    /// # Errors
    /// The store does not answer.
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

    /// A key was written or removed: it may exist now, and its value is old.
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
        // A fetch in progress may return an old value too.
        cells.changed = cells.fetching.keys().cloned().collect();
        drop(cells);
        self.cache.version.fetch_add(1, Ordering::Release);
    }

    /// Ids of all shared variables that hold a value, sorted.
    ///
    /// # Errors
    /// The keys were never loaded and the store does not answer.
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

    /// The value of that id, or the tree under it.
    ///
    /// # Errors
    /// There is nothing there, or the store does not answer and nothing is cached.
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

    /// The value stored under exactly that key, if there is one; at most five
    /// seconds old, or as it was last seen while the store is away.
    ///
    /// # Errors
    /// The store does not answer and the value was never seen.
    pub async fn stored(&self, key: EntryKey) -> Result<Option<Value>, StoreError> {
        let fetched = self.fetch(&[key]).await?;
        Ok(fetched
            .cells
            .into_iter()
            .next()
            .and_then(|(value, _)| value))
    }

    /// An id names the key that maps to it, or the keys below it. Segments may
    /// hold dots themselves (`model:gpt-4.1`), so it is looked up, not split.
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

    /// How long ago a value was read; nothing if it is older than it may be.
    pub(crate) fn age(&self, key: &EntryKey) -> Option<Duration> {
        let cells = read(&self.cache.cells);
        let good_until = cells.values.get(key)?.good_until;
        let left = good_until.checked_duration_since(Instant::now())?;
        Some(MOST_AGE.saturating_sub(left))
    }

    /// The shared variables that a compiled prompt references, if all of them
    /// are known and good.
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

    /// The shared variables that a compiled prompt references, and those of the
    /// names in `also`, fetched where they are not known or not good any more.
    pub(crate) async fn of(
        &self,
        compiled: &CompiledPrompt,
        also: &[&str],
    ) -> Result<SharedVariables, StoreError> {
        // Read before the fetch: a change in between makes the plan outdated, never wrongly
        // current.
        let generation = self.cache.generation.load(Ordering::Acquire);
        let version = self.cache.version.load(Ordering::Acquire);
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
        // A guard of `arc-swap` takes one of the few fast slots of its thread, so it is not held
        // while the store is read.
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
        // Concurrent renders may overwrite each other: each plan carries the numbers it is valid
        // for.
        compiled.plan.store(Some(Arc::new(plan)));
        Ok(shared)
    }

    /// Keys that a template's references can reach, and those of more names.
    fn keys_of(&self, references: &References, also: &[&str]) -> Vec<EntryKey> {
        let keys = read(&self.cache.keys);
        // A template that computes names can reach any variable.
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
            // These belong to the request, which hides shared variables of the same name.
            if REQUEST_ROOTS.contains(&first.as_str()) {
                continue;
            }
            found.extend(covering(&keys.set, &variable.path));
            // Templates may name a variable by its whole id, such as `vscode.lang`.
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

    /// Values of these keys, from the cache where they are good and from the
    /// store, in one round trip, where they are not.
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
                // Only a value that was never seen fails a render; known ones are served.
                (None, Some(error)) => return Err(error.clone()),
                (None, None) => cells.push((None, None)),
            }
        }
        Ok(FetchedValues {
            cells,
            good_until: away.is_none().then_some(good_until),
        })
    }

    /// Asks the store for values that are not good any more. Where all of them are known it is
    /// waited for a moment only, and while it is slow not at all: then one question at a time goes
    /// on in the background.
    async fn refresh(&self, old: Vec<EntryKey>) -> Result<(), StoreError> {
        let cache = &self.cache;
        // Nothing could be served instead, so the caller waits for the store.
        if !cache.knows_all(&old) {
            return cache.clone().ask(old).await;
        }
        // Asking a store that is known to be away would only cost time.
        if let Health::Away { reason } = cache.store.health() {
            return Err(StoreError::new(StoreErrorKind::Unavailable, reason));
        }
        let late = || {
            let message = format!("{} does not answer in time", cache.store.describe());
            StoreError::new(StoreErrorKind::Unavailable, message)
        };
        if cache.pace.load(Ordering::Acquire) == PROMPT {
            let mut asking = cache.clone().ask(old);
            // By reference: after a timeout the same question continues in the background.
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
        // The caller serves known values; the answer is for later renders.
        Err(late())
    }
}

/// The keys on the way to a path, at it and below it.
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
    // Keys are sorted, so those below the path form one range.
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

/// The tree, and under its whole id every variable that a template names so
/// (`index . "vscode.lang"`): templates written for ai-prompt-shell may do either.
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
