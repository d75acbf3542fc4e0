//! Keeps the snapshot of definitions up to date with the store.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use futures_util::StreamExt;
use quillet_core::store::{Change, Entry, Key, Kind, Store, StoreError};
use quillet_core::tool::{Tool, ToolBuilder};
use quillet_core::{Diagnostic, Severity};
use quillet_template::TemplateFactory;
use serde_json::{Map as Object, Value as Tree};
use tokio::sync::Mutex;

use crate::build::Builder;
use crate::compile::{Compiler, SourceSet};
use crate::definition::Prompt;
use crate::file::Outside;
use crate::script::ScriptReader;
use crate::snapshot::Snapshot;

/// The kinds that are definitions; environs are values and are not loaded whole.
pub(crate) const DEFINITIONS: [Kind; 3] = [Kind::Extension, Kind::Prompt, Kind::Tool];

/// Changes that come within this time are taken together, so that a program
/// which writes a hundred prompts causes a handful of rebuilds.
const GATHER: Duration = Duration::from_millis(20);

/// How long to wait before loading again from a store that did not answer.
const RETRY: Duration = Duration::from_millis(500);

/// Stored texts by kind and key, as last seen.
pub(crate) type Stored = BTreeMap<Kind, BTreeMap<Key, Entry>>;

/// The definitions of a store, as an immutable snapshot that is replaced as a whole.
#[derive(Debug)]
pub struct Catalogue {
    store: Arc<dyn Store>,
    builder: Builder,
    snapshot: ArcSwap<Snapshot>,
    /// What was loaded; held while it changes, also while the store is asked.
    stored: Mutex<Stored>,
    /// Tools that rest in no store.
    offered: ArcSwap<Vec<Arc<dyn Tool>>>,
    /// Whether every kind was loaded at least once.
    loaded: AtomicBool,
}

impl Catalogue {
    /// A catalogue that knows nothing yet; see [`Catalogue::load`] and [`Catalogue::watch`].
    ///
    /// `cache` is how many compiled templates are kept.
    #[must_use]
    pub fn new(
        store: Arc<dyn Store>,
        factory: TemplateFactory,
        tools: Arc<dyn ToolBuilder>,
        cache: usize,
    ) -> Self {
        Catalogue {
            store,
            builder: Builder::new(Compiler::new(factory, cache), tools),
            snapshot: ArcSwap::default(),
            stored: Mutex::default(),
            offered: ArcSwap::default(),
            loaded: AtomicBool::new(false),
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

    /// Loads every definition.
    ///
    /// # Errors
    /// The store does not answer; what was loaded before stays.
    pub async fn load(&self) -> Result<(), StoreError> {
        self.reload(&DEFINITIONS).await
    }

    /// Has these tools called by their names besides those of the store, in place of the ones
    /// that were offered before. A stored tool goes before one of the same name.
    pub async fn offer(&self, tools: Vec<Arc<dyn Tool>>) {
        let stored = self.stored.lock().await;
        self.offered.store(Arc::new(tools));
        self.rebuild(&stored);
    }

    async fn reload(&self, kinds: &[Kind]) -> Result<(), StoreError> {
        let mut stored = self.stored.lock().await;
        for kind in kinds {
            let entries = self.store.load(*kind).await?;
            let table = entries
                .into_iter()
                .map(|entry| (entry.key.clone(), entry))
                .collect();
            stored.insert(*kind, table);
        }
        self.rebuild(&stored);
        Ok(())
    }

    async fn refresh(&self, kind: Kind, keys: &[Key]) -> Result<(), StoreError> {
        // Files are more than their texts.
        let files = |table: &BTreeMap<Key, Entry>| table.values().any(|e| e.folder.is_some());
        if self.stored.lock().await.get(&kind).is_some_and(files) {
            return self.reload(&[kind]).await;
        }
        let texts = self.store.get(kind, keys).await?;
        // No text means removed, or there and not readable as one; only a load
        // can tell which.
        if texts.contains(&None) {
            return self.reload(&[kind]).await;
        }
        let mut stored = self.stored.lock().await;
        let table = stored.entry(kind).or_default();
        for (key, text) in keys.iter().zip(texts.into_iter().flatten()) {
            let known = table.get(key).map(|entry| entry.origin.clone());
            let origin = known.unwrap_or_else(|| key.as_str().into());
            table.insert(key.clone(), Entry::new(key.clone(), text, origin));
        }
        self.rebuild(&stored);
        Ok(())
    }

    fn rebuild(&self, stored: &Stored) {
        let snapshot = self
            .builder
            .build(stored, &self.offered.load(), &self.snapshot.load());
        report(&self.snapshot.load(), &snapshot);
        self.snapshot.store(Arc::new(snapshot));
        if DEFINITIONS.iter().all(|kind| stored.contains_key(kind)) {
            self.loaded.store(true, Ordering::Release);
        }
    }

    /// Follows the store's changes for as long as the future is polled.
    pub async fn watch(&self) {
        self.builder.look_ahead();
        let mut changes = self.store.changes();
        // What changed between the first load and this subscription is
        // caught by loading once more.
        let mut pending = Pending::everything();
        loop {
            while !pending.is_empty() {
                if let Err(error) = self.apply(&mut pending).await {
                    tracing::warn!(error = %error, "definitions could not be loaded; what is known is served");
                    tokio::time::sleep(RETRY).await;
                }
            }
            let Some(change) = changes.next().await else {
                return;
            };
            pending.add(change);
            let gather = tokio::time::sleep(GATHER);
            tokio::pin!(gather);
            loop {
                tokio::select! {
                    () = &mut gather => break,
                    change = changes.next() => match change {
                        Some(change) => pending.add(change),
                        None => break,
                    },
                }
            }
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
    ) -> Result<(Prompt, Arc<SourceSet>), Vec<Diagnostic>> {
        self.builder.inline(id, definition, snapshot)
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

/// Logs what has become invalid, once per change.
fn report(before: &Snapshot, after: &Snapshot) {
    for (id, prompt) in &after.prompts {
        let known = before
            .prompts
            .get(id)
            .is_some_and(|old| Arc::ptr_eq(old, prompt));
        if known {
            continue;
        }
        for found in prompt
            .diagnostics
            .iter()
            .filter(|found| found.severity == Severity::Error)
        {
            tracing::warn!(prompt = %id, origin = %prompt.origin, "{found}");
        }
    }
    for (id, tool) in &after.tools {
        let known = before
            .tools
            .get(id)
            .is_some_and(|old| Arc::ptr_eq(old, tool));
        for found in tool.diagnostics.iter().filter(|_| !known) {
            tracing::warn!(tool = %id, origin = %tool.origin, "{found}");
        }
    }
}
