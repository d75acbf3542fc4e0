//! Keeps the snapshot of definitions in sync with the store.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use quillet_core::Diagnostic;
use quillet_core::history::{LabelTarget, Labels, label_key, labelled_definition};
use quillet_core::lock::lock;
use quillet_core::store::{
    Changes, EntryKey, EntryKind, Health, Store, StoreChange, StoreEntry, StoreError,
    StoreErrorKind,
};
use quillet_core::tool::{Tool, ToolBuilder};
use quillet_template::{CompileLimits, TemplateFactory};
use serde_json::{Map as Object, Value as Tree};
use tokio::sync::Mutex;

use crate::build::Builder;
use crate::compile::Compiler;
use crate::definition::Prompt;
use crate::file::EnvironmentProvider;
use crate::follow::SyncRequests;
use crate::graph::{Contents, DefinitionGraph};
use crate::script::ScriptReader;
use crate::snapshot::CatalogueSnapshot;
use crate::sources::SourceSet;
use crate::versions::{VersionCache, VersionedPrompt, fetch};

/// Kinds that the catalogue loads in full. Shared variables are fetched when needed. Labels come
/// last, because they refer to prompts.
pub(crate) const DEFINITIONS: [EntryKind; 4] = [
    EntryKind::Extension,
    EntryKind::Prompt,
    EntryKind::Tool,
    EntryKind::Label,
];

/// Maximum depth of versions that refer to versions.
const MOST_ROUNDS: usize = 8;

/// Delay before the next load after the store did not answer.
const RETRY: Duration = Duration::from_millis(500);

/// The definitions of a store, as an immutable snapshot that is replaced as a whole.
#[derive(Debug)]
pub struct Catalogue {
    store: Arc<dyn Store>,
    builder: Builder,
    snapshot: ArcSwap<CatalogueSnapshot>,
    /// The loaded definitions. Locked during a change, including its reads from the store, so that
    /// changes are applied in order.
    held: Mutex<CatalogueState>,
    /// Whether every kind was loaded at least once.
    loaded: AtomicBool,
    /// Changes since the catalogue was created, for the first follower.
    first: InitialLoad,
    asks: SyncRequests,
    /// Cache for requests that select a version.
    marked: VersionCache,
}

#[derive(Debug, Default)]
struct CatalogueState {
    stock: DefinitionGraph,
    loaded: BTreeSet<EntryKind>,
}

struct InitialLoad(std::sync::Mutex<Option<Changes>>);

impl fmt::Debug for InitialLoad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("First").finish_non_exhaustive()
    }
}

impl Catalogue {
    /// Creates an empty catalogue; see [`Catalogue::load`] and [`Catalogue::watch`].
    ///
    /// `cache` is the maximum number of cached compiled templates.
    #[must_use]
    pub fn new(
        store: Arc<dyn Store>,
        factory: TemplateFactory,
        tools: Arc<dyn ToolBuilder>,
        cache: usize,
    ) -> Self {
        // Subscribed here, so that no change is missed between a load and the start of the watch.
        let first = InitialLoad(std::sync::Mutex::new(Some(store.changes())));
        Catalogue {
            store,
            builder: Builder::new(Compiler::new(factory, cache), tools),
            snapshot: ArcSwap::default(),
            held: Mutex::default(),
            loaded: AtomicBool::new(false),
            first,
            asks: SyncRequests::default(),
            marked: VersionCache::default(),
        }
    }

    /// Gives prompt files in a folder access to other files and to the environment. By default they
    /// have no access to either.
    #[must_use]
    pub fn with_outside(self, outside: Arc<dyn EnvironmentProvider>) -> Self {
        Catalogue {
            builder: self.builder.with_outside(outside),
            ..self
        }
    }

    /// Replaces the limits on the sources of a template.
    #[must_use]
    pub fn with_limits(self, limits: CompileLimits) -> Self {
        Catalogue {
            builder: self.builder.with_limits(limits),
            ..self
        }
    }

    /// Sets the reader of scripts. Without a reader, stored scripts are listed as invalid.
    #[must_use]
    pub fn with_scripts(self, scripts: Arc<dyn ScriptReader>) -> Self {
        Catalogue {
            builder: self.builder.with_scripts(scripts),
            ..self
        }
    }

    /// Returns the current snapshot of the definitions.
    #[must_use]
    pub fn snapshot(&self) -> Arc<CatalogueSnapshot> {
        self.snapshot.load_full()
    }

    /// Returns the store that the definitions are loaded from.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    pub(crate) fn compiler(&self) -> &Compiler {
        self.builder.compiler()
    }

    pub(crate) fn builder(&self) -> &Builder {
        &self.builder
    }

    pub(crate) fn marked(&self) -> &VersionCache {
        &self.marked
    }

    /// Returns the factory with all supported template formats.
    #[must_use]
    pub fn factory(&self) -> &TemplateFactory {
        self.compiler().factory()
    }

    /// Whether every kind of definition was loaded at least once.
    #[must_use]
    pub fn is_loaded(&self) -> bool {
        self.loaded.load(Ordering::Acquire)
    }

    /// Checks that every kind of definition was loaded at least once.
    ///
    /// # Errors
    /// Returns the store error that prevented the definitions from being loaded.
    pub fn ready(&self) -> Result<(), StoreError> {
        if self.is_loaded() {
            return Ok(());
        }
        let reason = match self.store.health() {
            Health::Away { reason } => reason,
            Health::Ready => format!(
                "the definitions of {} are being loaded",
                self.store.describe()
            ),
        };
        Err(StoreError::new(StoreErrorKind::Unavailable, reason))
    }

    /// Loads every definition.
    ///
    /// # Errors
    /// The store is unavailable. Previously loaded definitions are kept.
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
    /// let text = r#"{"prompt": "Hello {{.variables.name}}!"}"#;
    /// store.put(EntryKind::Prompt, &EntryKey::new("greet"), text).await.unwrap();
    /// store.put(EntryKind::Prompt, &EntryKey::new("broken"), "{}").await.unwrap();
    /// # let formats = TemplateFactory::standard();
    /// # let catalogue = Catalogue::new(store.clone(), formats, Arc::new(EchoTools), 100);
    /// catalogue.load().await.unwrap();
    ///
    /// let snapshot = catalogue.snapshot();
    /// assert_eq!(snapshot.prompt("greet").unwrap().status(), "valid");
    /// assert_eq!(snapshot.prompt("broken").unwrap().status(), "invalid");
    /// # });
    /// ```
    pub async fn load(&self) -> Result<(), StoreError> {
        self.reload(&DEFINITIONS).await
    }

    /// Publishes tools in addition to the tools of the store. They replace earlier tools of the
    /// same owner. A stored tool takes precedence over a published tool with the same name.
    pub async fn offer(&self, owner: &'static str, tools: Vec<Arc<dyn Tool>>) {
        let mut held = self.held.lock().await;
        let next = held.stock.offer(&self.snapshot.load(), owner, tools);
        self.snapshot.store(Arc::new(next));
    }

    async fn reload(&self, kinds: &[EntryKind]) -> Result<(), StoreError> {
        let mut held = self.held.lock().await;
        // Fails before anything is replaced, so the previous definitions stay.
        let all = self.store.load_all(kinds).await?;
        for (kind, entries) in kinds.iter().zip(all) {
            let before = self.snapshot.load_full();
            let next = if *kind == EntryKind::Label {
                let labels = self.all_labels(&held.stock, entries).await?;
                held.stock.label(&self.builder, &before, labels)
            } else {
                held.stock.replace(&self.builder, &before, *kind, entries)
            };
            let next = self.pinned(&mut held.stock, next).await?;
            self.snapshot.store(Arc::new(next));
            // Kinds can be reloaded separately, so each one is recorded.
            held.loaded.insert(*kind);
        }
        if DEFINITIONS.iter().all(|kind| held.loaded.contains(kind)) {
            // After the snapshot: a reader that sees the flag finds every definition in it.
            self.loaded.store(true, Ordering::Release);
        }
        Ok(())
    }

    async fn refresh(&self, kind: EntryKind, keys: &[EntryKey]) -> Result<(), StoreError> {
        let mut held = self.held.lock().await;
        // Prompt files refer to other files, so one changed key may affect other prompts.
        if kind == EntryKind::Prompt && held.stock.has_files() {
            // The lock is released first, because `reload` acquires it.
            drop(held);
            return self.reload(&[kind]).await;
        }
        // Read under the lock, so that an older read cannot replace a newer one.
        let entries = self.store.entries(kind, keys).await?;
        let changes = keys.iter().cloned().zip(entries);
        let before = self.snapshot.load_full();
        let next = if kind == EntryKind::Label {
            let labels = self.labels(changes).await?;
            held.stock.label(&self.builder, &before, labels)
        } else {
            held.stock
                .change(&self.builder, &before, kind, changes.collect())
        };
        let next = self.pinned(&mut held.stock, next).await?;
        self.snapshot.store(Arc::new(next));
        Ok(())
    }

    /// Reads the current labels of all prompts; a prompt that lost its labels gets an empty set.
    async fn all_labels(
        &self,
        stock: &DefinitionGraph,
        entries: Vec<StoreEntry>,
    ) -> Result<Vec<(EntryKey, Labels, Contents)>, StoreError> {
        // Deleted labels are missing from the store's list, so the known ones are added as removed.
        let gone = stock.labelled().into_iter();
        let gone = gone.map(|key| (label_key(EntryKind::Prompt, &key), None));
        let mut all: BTreeMap<EntryKey, Option<StoreEntry>> = gone.collect();
        all.extend(
            entries
                .into_iter()
                .map(|entry| (entry.key.clone(), Some(entry))),
        );
        self.labels(all.into_iter()).await
    }

    /// Converts entries to labels, with the contents of the versions that they point to.
    async fn labels(
        &self,
        entries: impl Iterator<Item = (EntryKey, Option<StoreEntry>)>,
    ) -> Result<Vec<(EntryKey, Labels, Contents)>, StoreError> {
        let mut all = Vec::new();
        for (place, entry) in entries {
            let Some((EntryKind::Prompt, key)) = labelled_definition(&place) else {
                continue;
            };
            let text = entry.map(|entry| (entry.text.clone(), entry.problem));
            let labels = match text {
                None => Ok(Labels::default()),
                Some((_, Some(problem))) => Err(problem.to_string()),
                Some((text, None)) => Labels::parse(&text),
            };
            match labels {
                Ok(labels) => all.push((key, labels)),
                // The previous labels are kept, because without labels readers would get another
                // version.
                Err(why) => {
                    tracing::warn!(%place, "cannot read labels, keeping the previous ones: {why}")
                }
            }
        }
        let numbers = |labels: &Labels| labels.0.values().flat_map(LabelTarget::numbers).collect();
        let wanted = all.iter().flat_map(|(key, labels)| {
            let numbers: BTreeSet<u64> = numbers(labels);
            numbers.into_iter().map(|number| (key.clone(), number))
        });
        let wanted: Vec<(EntryKey, u64)> = wanted.collect();
        let kept = match self.store.history() {
            Some(history) if !wanted.is_empty() => {
                history.load_versions(EntryKind::Prompt, &wanted).await?
            }
            _ => vec![None; wanted.len()],
        };
        let mut contents: BTreeMap<EntryKey, Contents> = BTreeMap::new();
        for ((key, number), kept) in wanted.into_iter().zip(kept) {
            let content = kept.and_then(|kept| kept.content);
            contents.entry(key).or_default().insert(number, content);
        }
        let with = |(key, labels)| {
            let contents = contents.remove(&key).unwrap_or_default();
            (key, labels, contents)
        };
        Ok(all.into_iter().map(with).collect())
    }

    /// Adds to the snapshot the versions that templates select by number or digest.
    async fn pinned(
        &self,
        stock: &mut DefinitionGraph,
        mut next: CatalogueSnapshot,
    ) -> Result<CatalogueSnapshot, StoreError> {
        // A fetched version may name further versions, so this repeats until none is missing.
        for _ in 0..MOST_ROUNDS {
            let wanted = stock.unpinned();
            if wanted.is_empty() {
                break;
            }
            let asked = wanted.iter();
            let asked: Vec<_> = asked
                .map(|pin| (next.key_of(&pin.id), pin.mark.clone()))
                .collect();
            let kept = fetch(&*self.store, &asked).await?;
            let keys = asked.into_iter().map(|(key, _)| key);
            let pins = wanted.into_iter().zip(keys).zip(kept);
            let pins = pins.map(|((pin, key), kept)| {
                let version = kept.and_then(|kept| {
                    VersionedPrompt::of(&self.builder, &next, &pin.id, &key, kept)
                });
                (pin, version)
            });
            let pins = pins.collect();
            next = stock.pin(&self.builder, &next, pins);
        }
        Ok(next)
    }

    /// Waits until everything that was written before this call is in the snapshot.
    ///
    /// # Errors
    /// The store is unavailable.
    pub async fn sync(&self) -> Result<(), StoreError> {
        self.store.sync().await?;
        if self.asks.is_caught_up().await {
            Ok(())
        } else {
            // Without a follower nothing applies changes, so everything is loaded again.
            self.load().await
        }
    }

    /// Applies store changes for as long as the future is polled.
    pub async fn watch(&self) {
        self.builder.look_ahead();
        let first = lock(&self.first.0).take();
        let mut pending = match (&first, self.is_loaded()) {
            (Some(_), true) => PendingChanges::default(),
            // One more load catches changes between the last load and this subscription.
            _ => PendingChanges::everything(),
        };
        let changes = first.unwrap_or_else(|| self.store.changes());
        let mut follower = self.asks.follow(changes).await;
        loop {
            while !pending.is_empty() {
                if let Err(error) = self.apply(&mut pending).await {
                    tracing::warn!(
                        error = %error,
                        "cannot load definitions; serving the known ones"
                    );
                    // If a change cannot be applied, it stays pending. The pause avoids flooding a
                    // store that is unavailable.
                    tokio::time::sleep(RETRY).await;
                }
            }
            // Changes that arrive meanwhile are applied together in the next round.
            let Some(changes) = follower.next().await else {
                return;
            };
            changes.into_iter().for_each(|change| pending.add(change));
        }
    }

    async fn apply(&self, pending: &mut PendingChanges) -> Result<(), StoreError> {
        if !pending.kinds.is_empty() {
            let kinds: Vec<EntryKind> = pending.kinds.iter().copied().collect();
            self.reload(&kinds).await?;
            // Reloading a kind includes all of its keys. They are cleared only after success, so a
            // failure is retried.
            pending.keys.retain(|kind, _| !pending.kinds.contains(kind));
            pending.kinds.clear();
        }
        while let Some((kind, keys)) = pending.keys.first_key_value() {
            let (kind, keys): (EntryKind, Vec<EntryKey>) = (*kind, keys.iter().cloned().collect());
            // Removed only after success, so that a failure leaves the keys pending.
            self.refresh(kind, &keys).await?;
            pending.keys.remove(&kind);
        }
        Ok(())
    }

    /// Parses a prompt that is not stored, and finds the sources that it compiles from.
    pub(crate) fn inline(
        &self,
        id: &str,
        definition: Object<String, Tree>,
        snapshot: &CatalogueSnapshot,
    ) -> Result<(Arc<Prompt>, Arc<SourceSet>), Vec<Diagnostic>> {
        let unstored = definition.into();
        self.describing(snapshot, |view| self.builder.inline(id, &unstored, view))
    }

    /// Returns all diagnostics that an extension, prompt or tool would have if it were stored; an
    /// empty list for other kinds.
    #[must_use]
    pub fn check(&self, kind: EntryKind, entry: &StoreEntry) -> Vec<Diagnostic> {
        self.describing(&self.snapshot.load(), |view| {
            self.builder.check(kind, entry, view)
        })
    }

    /// Returns all diagnostics that a prompt would have if it were stored under this id.
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
    /// # let formats = TemplateFactory::standard();
    /// # let catalogue = Catalogue::new(store.clone(), formats, Arc::new(EchoTools), 100);
    /// let check = |text| catalogue.check_prompt("greet", "prompt greet", text);
    /// assert!(check(r#"{"prompt": "Hello {{.variables.name}}!"}"#).is_empty());
    /// assert_eq!(check(r#"{"prompt": 7}"#)[0].code, "prompt.definition");
    /// # });
    /// ```
    #[must_use]
    pub fn check_prompt(&self, id: &str, source: &str, text: &str) -> Vec<Diagnostic> {
        self.describing(&self.snapshot.load(), |view| {
            self.builder.check_prompt(id, source, text, view)
        })
    }
}

/// Changes that are not applied yet.
#[derive(Debug, Default)]
struct PendingChanges {
    kinds: BTreeSet<EntryKind>,
    keys: BTreeMap<EntryKind, BTreeSet<EntryKey>>,
}

impl PendingChanges {
    fn everything() -> Self {
        PendingChanges {
            kinds: DEFINITIONS.into_iter().collect(),
            keys: BTreeMap::new(),
        }
    }

    fn is_empty(&self) -> bool {
        self.kinds.is_empty() && self.keys.is_empty()
    }

    fn add(&mut self, change: StoreChange) {
        match change {
            StoreChange::All => self.kinds.extend(DEFINITIONS),
            // Other kinds are read when needed, so the catalogue has nothing to update.
            StoreChange::Kind(kind) | StoreChange::Entry(kind, _)
                if !DEFINITIONS.contains(&kind) => {}
            StoreChange::Kind(kind) => {
                self.kinds.insert(kind);
            }
            StoreChange::Entry(kind, key) => {
                self.keys.entry(kind).or_default().insert(key);
            }
        }
    }
}
