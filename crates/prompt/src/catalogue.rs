//! Keeps the snapshot of definitions up to date with the store.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;
use quillet_core::Diagnostic;
use quillet_core::store::{
    Change, Changes, Entry, Health, Key, Kind, Store, StoreError, StoreErrorKind,
};
use quillet_core::tool::{Tool, ToolBuilder};
use quillet_template::TemplateFactory;
use serde_json::{Map as Object, Value as Tree};
use tokio::sync::Mutex;

use crate::build::Builder;
use crate::compile::Compiler;
use crate::definition::Prompt;
use crate::file::Outside;
use crate::follow::Asks;
use crate::script::ScriptReader;
use crate::snapshot::Snapshot;
use crate::sources::SourceSet;
use crate::stock::Stock;

/// The kinds that are definitions; environs are values and are not loaded whole.
pub(crate) const DEFINITIONS: [Kind; 3] = [Kind::Extension, Kind::Prompt, Kind::Tool];

/// How long to wait before loading again from a store that did not answer.
const RETRY: Duration = Duration::from_millis(500);

/// The definitions of a store, as an immutable snapshot that is replaced as a whole.
#[derive(Debug)]
pub struct Catalogue {
    store: Arc<dyn Store>,
    builder: Builder,
    snapshot: ArcSwap<Snapshot>,
    /// What was loaded; held while it changes, even while the store is asked.
    held: Mutex<Held>,
    /// Whether every kind was loaded at least once.
    loaded: AtomicBool,
    /// Changes since the catalogue was made, for whoever follows first.
    first: First,
    asks: Asks,
}

#[derive(Debug, Default)]
struct Held {
    stock: Stock,
    loaded: BTreeSet<Kind>,
}

struct First(std::sync::Mutex<Option<Changes>>);

impl fmt::Debug for First {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("First").finish_non_exhaustive()
    }
}

impl Catalogue {
    /// A catalogue that knows nothing yet; see [`Catalogue::load`] and [`Catalogue::watch`].
    ///
    /// `cache` is how many compiled templates are cached.
    #[must_use]
    pub fn new(
        store: Arc<dyn Store>,
        factory: TemplateFactory,
        tools: Arc<dyn ToolBuilder>,
        cache: usize,
    ) -> Self {
        // From now on, so that no change is missed between a load and its following.
        let first = First(std::sync::Mutex::new(Some(store.changes())));
        Catalogue {
            store,
            builder: Builder::new(Compiler::new(factory, cache), tools),
            snapshot: ArcSwap::default(),
            held: Mutex::default(),
            loaded: AtomicBool::new(false),
            first,
            asks: Asks::default(),
        }
    }

    /// The same, where prompt files that rest in a folder may ask for other files
    /// and for the environment. Otherwise nothing answers them.
    #[must_use]
    pub fn with_outside(self, outside: Arc<dyn Outside>) -> Self {
        Catalogue {
            builder: self.builder.with_outside(outside),
            ..self
        }
    }

    /// The same, with a reader of scripts. Otherwise stored scripts are listed as broken.
    #[must_use]
    pub fn with_scripts(self, scripts: Arc<dyn ScriptReader>) -> Self {
        Catalogue {
            builder: self.builder.with_scripts(scripts),
            ..self
        }
    }

    /// The definitions at this moment.
    #[must_use]
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.snapshot.load_full()
    }

    /// The store behind it.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    pub(crate) fn compiler(&self) -> &Compiler {
        self.builder.compiler()
    }

    /// The formats that prompts can be written in.
    #[must_use]
    pub fn factory(&self) -> &TemplateFactory {
        self.compiler().factory()
    }

    /// Whether every kind of definition was loaded at least once.
    #[must_use]
    pub fn is_loaded(&self) -> bool {
        self.loaded.load(Ordering::Acquire)
    }

    /// Nothing if every kind of definition was loaded at least once.
    ///
    /// # Errors
    /// Why nobody knows what there is.
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
    /// The store does not answer; what was loaded before stays.
    pub async fn load(&self) -> Result<(), StoreError> {
        self.reload(&DEFINITIONS).await
    }

    /// Has these tools called by their names besides those of the store, in place of the ones that
    /// this owner offered before. A stored tool wins over one of the same name.
    pub async fn offer(&self, owner: &'static str, tools: Vec<Arc<dyn Tool>>) {
        let mut held = self.held.lock().await;
        let next = held.stock.offer(&self.snapshot.load(), owner, tools);
        self.snapshot.store(Arc::new(next));
    }

    async fn reload(&self, kinds: &[Kind]) -> Result<(), StoreError> {
        let mut held = self.held.lock().await;
        for kind in kinds {
            let entries = self.store.load(*kind).await?;
            let before = self.snapshot.load_full();
            let next = held.stock.replace(&self.builder, &before, *kind, entries);
            self.snapshot.store(Arc::new(next));
            held.loaded.insert(*kind);
        }
        if DEFINITIONS.iter().all(|kind| held.loaded.contains(kind)) {
            self.loaded.store(true, Ordering::Release);
        }
        Ok(())
    }

    async fn refresh(&self, kind: Kind, keys: &[Key]) -> Result<(), StoreError> {
        let mut held = self.held.lock().await;
        if kind == Kind::Prompt && held.stock.has_files() {
            // `reload` takes this lock itself.
            drop(held);
            return self.reload(&[kind]).await;
        }
        let entries = self.store.entries(kind, keys).await?;
        let changes = keys.iter().cloned().zip(entries).collect();
        let before = self.snapshot.load_full();
        let next = held.stock.change(&self.builder, &before, kind, changes);
        self.snapshot.store(Arc::new(next));
        Ok(())
    }

    /// Waits until everything that anybody wrote before this was called is in the snapshot.
    ///
    /// # Errors
    /// The store does not answer.
    pub async fn sync(&self) -> Result<(), StoreError> {
        self.store.sync().await?;
        if self.asks.is_caught_up().await {
            Ok(())
        } else {
            self.load().await
        }
    }

    /// Follows the store's changes for as long as the future is polled.
    pub async fn watch(&self) {
        self.builder.look_ahead();
        let first = self
            .first
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let mut pending = match (&first, self.is_loaded()) {
            (Some(_), true) => Pending::default(),
            // What changed between the last load and this subscription is caught by
            // loading once more.
            _ => Pending::everything(),
        };
        let changes = first.unwrap_or_else(|| self.store.changes());
        let mut follower = self.asks.follow(changes).await;
        loop {
            while !pending.is_empty() {
                if let Err(error) = self.apply(&mut pending).await {
                    tracing::warn!(error = %error, "definitions could not be loaded; what is known is served");
                    tokio::time::sleep(RETRY).await;
                }
            }
            // What comes while these are applied is taken together the next time.
            let Some(changes) = follower.next().await else {
                return;
            };
            changes.into_iter().for_each(|change| pending.add(change));
        }
    }

    async fn apply(&self, pending: &mut Pending) -> Result<(), StoreError> {
        if !pending.kinds.is_empty() {
            let kinds: Vec<Kind> = pending.kinds.iter().copied().collect();
            self.reload(&kinds).await?;
            pending.keys.retain(|kind, _| !pending.kinds.contains(kind));
            pending.kinds.clear();
        }
        while let Some((kind, keys)) = pending.keys.first_key_value() {
            let (kind, keys): (Kind, Vec<Key>) = (*kind, keys.iter().cloned().collect());
            self.refresh(kind, &keys).await?;
            pending.keys.remove(&kind);
        }
        Ok(())
    }

    /// A prompt that is not stored, and the sources that it compiles from.
    pub(crate) fn inline(
        &self,
        id: &str,
        definition: Object<String, Tree>,
        snapshot: &Snapshot,
    ) -> Result<(Arc<Prompt>, Arc<SourceSet>), Vec<Diagnostic>> {
        self.builder.inline(id, definition, snapshot)
    }

    /// Everything that is wrong with an extension, a prompt or a tool, as if it were stored. Of
    /// other kinds this says nothing.
    #[must_use]
    pub fn check(&self, kind: Kind, entry: &Entry) -> Vec<Diagnostic> {
        self.builder.check(kind, entry, &self.snapshot.load())
    }

    /// Everything that is wrong with a prompt, as if it were stored under that id.
    #[must_use]
    pub fn check_prompt(&self, id: &str, source: &str, text: &str) -> Vec<Diagnostic> {
        self.builder
            .check_prompt(id, source, text, &self.snapshot.load())
    }
}

/// Changes that are not applied yet.
#[derive(Debug, Default)]
struct Pending {
    kinds: BTreeSet<Kind>,
    keys: BTreeMap<Kind, BTreeSet<Key>>,
}

impl Pending {
    fn everything() -> Self {
        Pending {
            kinds: DEFINITIONS.into_iter().collect(),
            keys: BTreeMap::new(),
        }
    }

    fn is_empty(&self) -> bool {
        self.kinds.is_empty() && self.keys.is_empty()
    }

    fn add(&mut self, change: Change) {
        match change {
            Change::All => self.kinds.extend(DEFINITIONS),
            Change::Kind(kind) | Change::Entry(kind, _) if !DEFINITIONS.contains(&kind) => {}
            Change::Kind(kind) => {
                self.kinds.insert(kind);
            }
            Change::Entry(kind, key) => {
                self.keys.entry(kind).or_default().insert(key);
            }
        }
    }
}
