//! In-memory store.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, RwLock};

use futures_util::FutureExt;
use quillet_core::BoxFuture;
use quillet_core::history::{
    Commit, CommitResult, DefinitionContent, HistoryImport, HistoryStore, LabelMove, Labels,
    LogEntry, LogFilter, STORE, Version, VersionRecord, label_key,
};
use quillet_core::lock::{self, lock};
use quillet_core::store::{
    Changes, EntryKey, EntryKind, Health, Store, StoreChange, StoreEntry, StoreError,
};

use crate::StoreOptions;
use crate::changes::ChangeBus;
use crate::history::{MemoryLog, VersionChain, apply_moves, committed, imported, stored};

type EntryMap = BTreeMap<(EntryKind, EntryKey), StoreEntry>;

/// In-memory store of definitions.
///
/// # Examples
///
/// ```
/// use quillet_core::history::{Commit, DefinitionContent};
/// use quillet_core::store::{EntryKey, EntryKind, Store};
/// use quillet_store::MemoryStore;
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let store = MemoryStore::new();
/// let history = store.history().unwrap();
/// let content = DefinitionContent::new(r#"{"prompt": "Hello"}"#);
/// let key = EntryKey::new("greet:hello");
/// let commit = Commit::new(EntryKind::Prompt, key, Some(content), "ada");
/// assert_eq!(history.commit(&commit).await?.version.number, 1);
/// // The same content creates no new version.
/// assert!(!history.commit(&commit).await?.is_new);
/// # Ok::<(), quillet_core::store::StoreError>(())
/// # }).unwrap();
/// ```
#[derive(Debug)]
pub struct MemoryStore {
    name: &'static str,
    max_versions: usize,
    entries: RwLock<EntryMap>,
    /// Lock order: before `entries`.
    chains: Mutex<BTreeMap<(EntryKind, EntryKey), VersionChain>>,
    log: Mutex<MemoryLog>,
    hub: ChangeBus,
}

impl MemoryStore {
    /// Creates an empty store.
    #[must_use]
    pub fn new() -> Self {
        MemoryStore::named("memory", EntryMap::new())
    }

    pub(crate) fn named(name: &'static str, entries: EntryMap) -> Self {
        MemoryStore {
            name,
            max_versions: StoreOptions::default().max_versions,
            entries: RwLock::new(entries),
            chains: Mutex::default(),
            log: Mutex::default(),
            hub: ChangeBus::new(),
        }
    }

    /// Sets the limits of histories from the options.
    pub(crate) fn with(self, options: &StoreOptions) -> Self {
        MemoryStore {
            max_versions: options.max_versions,
            ..self
        }
    }

    /// Modifies the history of a definition; the closure also gets access to the entries.
    fn change_history<T>(
        &self,
        kind: EntryKind,
        key: &EntryKey,
        change: impl FnOnce(&mut VersionChain, &mut EntryMap) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut chains = lock(&self.chains);
        let at = (kind, key.clone());
        // The chain is removed from the map for mutable access without borrowing the map; it is
        // inserted again below, even after an error.
        let mut chain = chains.remove(&at).unwrap_or_default();
        let done = self.write(|entries| change(&mut chain, entries));
        // A failed first commit must not leave a definition without versions in the list of keys.
        if !chain.is_empty() {
            chains.insert(at, chain);
        }
        done
    }

    fn read_history<T: Default>(
        &self,
        kind: EntryKind,
        key: &EntryKey,
        look: impl FnOnce(&VersionChain) -> T,
    ) -> T {
        let chains = lock(&self.chains);
        chains
            .get(&(kind, key.clone()))
            .map(look)
            .unwrap_or_default()
    }

    fn entry(&self, key: &EntryKey, text: impl Into<Arc<str>>) -> StoreEntry {
        StoreEntry::new(key.clone(), text, format!("{}/{key}", self.name))
    }

    fn put_labels(&self, entries: &mut EntryMap, kind: EntryKind, key: &EntryKey, labels: &Labels) {
        let place = label_key(kind, key);
        let entry = self.entry(&place, labels.to_text());
        let at = (EntryKind::Label, place);
        if labels.0.is_empty() {
            entries.remove(&at);
        } else {
            entries.insert(at, entry);
        }
    }

    fn keep(&self, commit: &Commit) -> Result<CommitResult, StoreError> {
        let Commit { kind, key, .. } = commit;
        let committed = self.change_history(*kind, key, |chain, entries| {
            let at = (*kind, key.clone());
            let now = entries.get(&at).map(DefinitionContent::of);
            let text = label_text(entries, *kind, key);
            let mut after = chain.clone();
            // The commit runs on a clone, because a label error below must leave the history
            // unchanged.
            let (version, is_new) = after.commit(now.as_ref(), commit)?;
            let labels = committed(commit, text.as_deref(), version.number)?;
            // The new labels are used, so the versions that they point to are not deleted.
            after.collect(self.max_versions, &labels);
            *chain = after;
            match &commit.content {
                Some(content) => drop(entries.insert(at, self.entry(key, content.text.clone()))),
                None => drop(entries.remove(&at)),
            }
            self.put_labels(entries, *kind, key, &labels);
            Ok(CommitResult {
                version,
                is_new,
                labels,
            })
        })?;
        self.report_change(*kind, key);
        Ok(committed)
    }

    fn import_history(&self, import: &HistoryImport) -> Result<usize, StoreError> {
        let HistoryImport { kind, key, .. } = import;
        let added = self.change_history(*kind, key, |chain, entries| {
            let at = (*kind, key.clone());
            let mut after = chain.clone();
            after.observe(entries.get(&at).map(DefinitionContent::of).as_ref(), STORE);
            let added = after.extend(key, &import.versions)?;
            let text = label_text(entries, *kind, key);
            let labels = imported(import, text.as_deref(), |number| after.points_at(number))?;
            *chain = after;
            let newest = chain.head().map(|head| head.number);
            match newest.and_then(|number| chain.version_record(number)?.content) {
                Some(content) => drop(entries.insert(at, self.entry(key, content.text))),
                None => drop(entries.remove(&at)),
            }
            self.put_labels(entries, *kind, key, &labels);
            Ok(added)
        })?;
        self.report_change(*kind, key);
        Ok(added)
    }

    fn report_change(&self, kind: EntryKind, key: &EntryKey) {
        self.hub.send(StoreChange::Entry(kind, key.clone()));
        self.hub
            .send(StoreChange::Entry(EntryKind::Label, label_key(kind, key)));
    }

    /// No method panics while it holds the lock, so a poisoned lock is still consistent.
    fn read<T>(&self, look: impl FnOnce(&EntryMap) -> T) -> T {
        look(&lock::read(&self.entries))
    }

    fn write<T>(&self, change: impl FnOnce(&mut EntryMap) -> T) -> T {
        change(&mut lock::write(&self.entries))
    }

    fn of_kind(&self, kind: EntryKind) -> Vec<StoreEntry> {
        self.read(|entries| {
            let found = entries.iter().filter(|(at, _)| at.0 == kind);
            found.map(|(_, entry)| entry.clone()).collect()
        })
    }

    fn texts(&self, kind: EntryKind, keys: &[EntryKey]) -> Vec<Option<Arc<str>>> {
        self.read(|entries| {
            let text = |key: &EntryKey| Some(entries.get(&(kind, key.clone()))?.text.clone());
            keys.iter().map(text).collect()
        })
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        MemoryStore::new()
    }
}

/// Returns the stored labels of a definition.
fn label_text(entries: &EntryMap, kind: EntryKind, key: &EntryKey) -> Option<Arc<str>> {
    let entry = entries.get(&(EntryKind::Label, label_key(kind, key)))?;
    Some(entry.text.clone())
}

fn labels(entries: &EntryMap, kind: EntryKind, key: &EntryKey) -> Result<Labels, StoreError> {
    stored(key, label_text(entries, kind, key).as_deref())
}

impl Store for MemoryStore {
    fn describe(&self) -> String {
        self.name.to_owned()
    }

    fn load(&self, kind: EntryKind) -> BoxFuture<'_, Result<Vec<StoreEntry>, StoreError>> {
        async move { Ok(self.of_kind(kind)) }.boxed()
    }

    fn keys(&self, kind: EntryKind) -> BoxFuture<'_, Result<Vec<EntryKey>, StoreError>> {
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
        kind: EntryKind,
        keys: &'a [EntryKey],
    ) -> BoxFuture<'a, Result<Vec<Option<Arc<str>>>, StoreError>> {
        async move { Ok(self.texts(kind, keys)) }.boxed()
    }

    fn entries<'a>(
        &'a self,
        kind: EntryKind,
        keys: &'a [EntryKey],
    ) -> BoxFuture<'a, Result<Vec<Option<StoreEntry>>, StoreError>> {
        let entry = |entries: &EntryMap, key: &EntryKey| entries.get(&(kind, key.clone())).cloned();
        let found = self.read(|entries| keys.iter().map(|key| entry(entries, key)).collect());
        async move { Ok(found) }.boxed()
    }

    fn put<'a>(
        &'a self,
        kind: EntryKind,
        key: &'a EntryKey,
        text: &'a str,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        async move {
            let entry = self.entry(key, text);
            self.write(|entries| entries.insert((kind, key.clone()), entry));
            self.hub.send(StoreChange::Entry(kind, key.clone()));
            Ok(())
        }
        .boxed()
    }

    fn remove<'a>(
        &'a self,
        kind: EntryKind,
        key: &'a EntryKey,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        async move {
            let removed = self.write(|entries| entries.remove(&(kind, key.clone())));
            if removed.is_some() {
                self.hub.send(StoreChange::Entry(kind, key.clone()));
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

    fn history(&self) -> Option<&dyn HistoryStore> {
        Some(self)
    }
}

impl HistoryStore for MemoryStore {
    fn commit<'a>(&'a self, commit: &'a Commit) -> BoxFuture<'a, Result<CommitResult, StoreError>> {
        async move { self.keep(commit) }.boxed()
    }

    fn observe<'a>(
        &'a self,
        kind: EntryKind,
        keys: &'a [EntryKey],
        author: &'a str,
    ) -> BoxFuture<'a, Result<Vec<(EntryKey, Version)>, StoreError>> {
        async move {
            let mut new = Vec::new();
            for key in keys {
                let observed = self.change_history(kind, key, |chain, entries| {
                    let now = entries.get(&(kind, key.clone())).map(DefinitionContent::of);
                    let new = chain.observe(now.as_ref(), author);
                    if let (Some(_), Ok(labels)) = (&new, labels(entries, kind, key)) {
                        chain.collect(self.max_versions, &labels);
                    }
                    Ok(new)
                })?;
                new.extend(observed.map(|version| (key.clone(), version)));
            }
            Ok(new)
        }
        .boxed()
    }

    fn versions<'a>(
        &'a self,
        kind: EntryKind,
        key: &'a EntryKey,
        before: Option<u64>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Version>, StoreError>> {
        async move { Ok(self.read_history(kind, key, |chain| chain.below(before, limit))) }.boxed()
    }

    fn load_versions<'a>(
        &'a self,
        kind: EntryKind,
        wanted: &'a [(EntryKey, u64)],
    ) -> BoxFuture<'a, Result<Vec<Option<VersionRecord>>, StoreError>> {
        let one = |(key, number): &(EntryKey, u64)| {
            self.read_history(kind, key, |chain| chain.version_record(*number))
        };
        let kept = wanted.iter().map(one).collect();
        async move { Ok(kept) }.boxed()
    }

    fn find<'a>(
        &'a self,
        kind: EntryKind,
        key: &'a EntryKey,
        digits: &'a str,
    ) -> BoxFuture<'a, Result<Option<Version>, StoreError>> {
        async move { Ok(self.read_history(kind, key, |chain| chain.find(digits))) }.boxed()
    }

    fn relabel<'a>(
        &'a self,
        kind: EntryKind,
        key: &'a EntryKey,
        moves: &'a [LabelMove],
    ) -> BoxFuture<'a, Result<Labels, StoreError>> {
        async move {
            let labels = self.change_history(kind, key, |chain, entries| {
                let known = labels(entries, kind, key)?;
                let labels = apply_moves(key, &known, moves, |number| chain.points_at(number))?;
                self.put_labels(entries, kind, key, &labels);
                Ok(labels)
            })?;
            let place = label_key(kind, key);
            self.hub.send(StoreChange::Entry(EntryKind::Label, place));
            Ok(labels)
        }
        .boxed()
    }

    fn import<'a>(&'a self, import: &'a HistoryImport) -> BoxFuture<'a, Result<usize, StoreError>> {
        async move { self.import_history(import) }.boxed()
    }

    fn collect<'a>(
        &'a self,
        kind: EntryKind,
        key: &'a EntryKey,
        keep: usize,
    ) -> BoxFuture<'a, Result<Vec<u64>, StoreError>> {
        let collect = |chain: &mut VersionChain, entries: &mut EntryMap| {
            Ok(chain.collect(keep, &labels(entries, kind, key)?))
        };
        let dropped = self.change_history(kind, key, collect);
        async move { dropped }.boxed()
    }

    fn keys(&self, kind: EntryKind) -> BoxFuture<'_, Result<Vec<EntryKey>, StoreError>> {
        let chains = lock(&self.chains);
        let known = chains.keys().filter(|(of, _)| *of == kind);
        let known: BTreeSet<EntryKey> = known.map(|(_, key)| key.clone()).collect();
        async move { Ok(known.into_iter().collect()) }.boxed()
    }

    fn note<'a>(&'a self, entry: &'a LogEntry) -> BoxFuture<'a, Result<(), StoreError>> {
        let mut log = lock(&self.log);
        log.append(entry);
        async move { Ok(()) }.boxed()
    }

    fn log<'a>(
        &'a self,
        filter: &'a LogFilter,
        before: Option<u64>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<LogEntry>, StoreError>> {
        let log = lock(&self.log);
        let lines = log.below(filter, before, limit);
        async move { Ok(lines) }.boxed()
    }
}
