//! A watched folder of definitions.
//!
//! The subfolders are the kinds: `extensions/`, `prompts/` (or `templates/`), `environs/`,
//! `tools/`, `agents/`, `databases/`. Nested folders and the stem of the file form the segments of
//! the key: `environs/vscode/lang.json` is `vscode:lang`. Files are JSON or YAML. Prompts can also
//! be plain templates (`.gotmpl` and `.tmpl` for Go's format, `.jinja`, `.hbs`, `.mustache`,
//! `.liquid`, `.sk`, `.fstring` and so on), prompt files (`.prompt`, `.prompty`, a folder with
//! `skprompt.txt`) and scripts (`.ai.yaml`, `.ai.yml`).
//!
//! Histories are in a sibling folder whose name has the suffix `.history`. It contains a file
//! `prompt/greet/hello.jsonl` for each definition, the labels in `labels/prompt/greet/hello.json`,
//! which users may edit, and the audit log `log.jsonl`. The folder is created with the first
//! version.

pub(crate) mod document;
mod history;
mod history_file;
mod history_index;
mod key_path;
mod lines;
mod plan;
mod scan;
mod stable_read;
mod watch;
mod write;

use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex};

use arc_swap::ArcSwap;
use futures_util::FutureExt;
use quillet_core::BoxFuture;
use quillet_core::history::{DefinitionContent, HistoryStore};
use quillet_core::lock::lock;
use quillet_core::store::{
    Changes, EntryKey, EntryKind, Health, Store, StoreChange, StoreEntry, StoreError,
    StoreErrorKind,
};
use tokio::task::spawn_blocking;
use tokio_util::task::AbortOnDropHandle;

use crate::StoreOptions;
use crate::changes::ChangeBus;
pub use document::{PROMPT_FILE_ENDINGS, TEMPLATE_ENDINGS};
use history_index::HistoryCache;
pub use key_path::folders;
pub(crate) use key_path::kind_of;
use key_path::{Roots, refused};
pub use scan::entry_of_file;
use scan::{FolderEntry, FolderSnapshot};
use stable_read::{is_moving, read_stable};
use watch::Watch;

/// A store in a folder.
#[derive(Debug)]
pub struct FolderStore {
    folder: Arc<FolderInner>,
    _watcher: AbortOnDropHandle<()>,
}

/// State shared by the store and its watcher.
#[derive(Debug)]
struct FolderInner {
    roots: Roots,
    /// The path as the user wrote it.
    name: String,
    max_file_bytes: usize,
    max_versions: usize,
    /// Result of the last scan, or the reason for its failure.
    snapshot: ArcSwap<Result<FolderSnapshot, String>>,
    /// Held during a scan or update, so only one runs at a time.
    looking: Mutex<()>,
    shelf: HistoryCache,
    hub: ChangeBus,
}

impl FolderStore {
    /// Opens a folder, reads its definitions, and watches for changes. Call this inside a Tokio
    /// runtime.
    ///
    /// # Errors
    /// `Configuration` if the folder does not exist or cannot be read.
    pub async fn open(path: &Path, options: &StoreOptions) -> Result<Self, StoreError> {
        let (path, options) = (path.to_owned(), options.clone());
        let opening = spawn_blocking(move || FolderInner::open(&path, &options));
        let folder = opening.await.map_err(|error| failed(&error))??;
        // The watch starts before the second scan, so no change is missed in between.
        let watcher = tokio::spawn(look_again(folder.clone(), Watch::new(&folder.roots)));
        // Finds files that were written between the first scan and the start of the watch.
        in_background(&folder, FolderInner::rescan).await?;
        // A process may have been killed during a write. The plan of such a process is completed
        // before the store is used.
        in_background(&folder, FolderInner::finish_at_last).await?;
        Ok(FolderStore {
            folder,
            _watcher: AbortOnDropHandle::new(watcher),
        })
    }

    /// Writes a definition in its existing file format, without creating a version.
    ///
    /// # Errors
    /// `Refused` for a key that is not a valid path, and for errors of the operating system.
    pub async fn write_file(
        &self,
        kind: EntryKind,
        key: &EntryKey,
        content: &DefinitionContent,
    ) -> Result<(), StoreError> {
        let (key, content) = (key.clone(), content.clone());
        let work = move |folder: &FolderInner| {
            let written = folder.put(kind, &key, &content);
            folder.refresh(&[(kind, key)]);
            written
        };
        in_background(&self.folder, work).await?
    }
}

async fn look_again(folder: Arc<FolderInner>, mut watch: Watch) {
    loop {
        if !watch.changed().await || !folder.is_there() {
            watch = Watch::new(&folder.roots);
        }
        let _ = in_background(&folder, FolderInner::rescan).await;
    }
}

/// Runs file operations where they may block.
async fn in_background<T: Send + 'static>(
    folder: &Arc<FolderInner>,
    work: impl FnOnce(&FolderInner) -> T + Send + 'static,
) -> Result<T, StoreError> {
    let folder = folder.clone();
    // A started operation is not cancelled with its future, so a cancelled request never leaves an
    // incomplete write.
    let done = spawn_blocking(move || work(&folder)).await;
    done.map_err(|error| failed(&error))
}

fn failed(error: &tokio::task::JoinError) -> StoreError {
    StoreError::new(StoreErrorKind::Unavailable, error.to_string())
}

impl FolderInner {
    fn open(path: &Path, options: &StoreOptions) -> Result<Arc<Self>, StoreError> {
        let name = path.display().to_string();
        let wrong = |error: io::Error| {
            let mend = match error.kind() {
                io::ErrorKind::NotFound => {
                    ": create it with the folders prompts/, tools/ and environs/"
                }
                _ => "",
            };
            let message = format!("store folder {name}: {error}{mend}");
            StoreError::new(StoreErrorKind::Configuration, message)
        };
        let roots = Roots::new(path).map_err(wrong)?;
        let snapshot = scan::scan(&roots, options.max_file_bytes).map_err(wrong)?;
        Ok(Arc::new(FolderInner {
            roots,
            name,
            max_file_bytes: options.max_file_bytes,
            max_versions: options.max_versions,
            snapshot: ArcSwap::from_pointee(Ok(snapshot)),
            looking: Mutex::new(()),
            shelf: HistoryCache::default(),
            hub: ChangeBus::new(),
        }))
    }

    fn is_there(&self) -> bool {
        self.snapshot.load().is_ok()
    }

    /// Scans the folder again after files are no longer being written, and reports the differences.
    fn rescan(&self) {
        // If two scans ran at the same time, the older result might be stored last.
        let _one = lock(&self.looking);
        let known = self.snapshot.load_full();
        let now = read_stable(
            || scan::scan(&self.roots, self.max_file_bytes),
            |now| match &*known {
                Ok(known) => changed(known, now)
                    .into_iter()
                    .any(|at| is_moving(known.documents.get(at), now.documents.get(at))),
                Err(_) => false,
            },
        );
        let now = Arc::new(now.map_err(|error| format!("folder {}: {error}", self.name)));
        let before = self.snapshot.swap(now.clone());
        match (&*before, &*now) {
            (Ok(before), Ok(now)) => self.report_changes(before, now),
            // The folder was unavailable, so individual changes are unknown.
            (Err(_), Ok(_)) => self.hub.send(StoreChange::All),
            (Ok(_), Err(reason)) => tracing::warn!(%reason, "store is unavailable"),
            (Err(_), Err(_)) => {}
        }
    }

    /// Reads entries that this store has written, and reports the differences.
    fn refresh(&self, places: &[(EntryKind, EntryKey)]) {
        self.read_again(places, |kind, key| self.claims(kind, key));
    }

    /// Reads entries that others may be writing, after the writes are complete, and reports the
    /// differences.
    fn refresh_settled(&self, places: &[(EntryKind, EntryKey)]) {
        self.read_again(places, |kind, key| self.settled_claims(kind, key));
    }

    fn read_again(
        &self,
        places: &[(EntryKind, EntryKey)],
        read: impl Fn(EntryKind, &EntryKey) -> Result<Vec<FolderEntry>, StoreError>,
    ) {
        // The lock is released before `rescan` below, which takes it again.
        let one = lock(&self.looking);
        let before = self.snapshot.load_full();
        let Ok(before) = &*before else {
            drop(one);
            return self.rescan();
        };
        let mut now = before.clone();
        for (kind, key) in places {
            let Ok(claims) = read(*kind, key) else {
                drop(one);
                return self.rescan();
            };
            let at = (*kind, key.clone());
            match claims.into_iter().next() {
                // The first claim is used, as in a full scan, which reports the others as
                // duplicates.
                Some(document) => drop(now.documents.insert(at, document)),
                None => drop(now.documents.remove(&at)),
            }
        }
        // The snapshot is stored before the change is reported, so subscribers read the new
        // content.
        self.snapshot.store(Arc::new(Ok(now.clone())));
        self.report_changes(before, &now);
    }

    fn report_changes(&self, before: &FolderSnapshot, now: &FolderSnapshot) {
        let mut prompts = before.others != now.others;
        for at in changed(before, now) {
            let document = now.documents.get(at).or(before.documents.get(at));
            let is_json = document.is_some_and(|it| it.path.extension() == Some("json".as_ref()));
            match at {
                (EntryKind::Prompt, _) if !is_json => prompts = true,
                (kind, key) => self.hub.send(StoreChange::Entry(*kind, key.clone())),
            }
        }
        // A prompt file is more than its text: its name determines the format, and it may include
        // other files.
        if prompts {
            self.hub.send(StoreChange::Kind(EntryKind::Prompt));
        }
    }

    fn with<T>(&self, look: impl FnOnce(&FolderSnapshot) -> T) -> Result<T, StoreError> {
        match &**self.snapshot.load() {
            Ok(snapshot) => Ok(look(snapshot)),
            Err(reason) => Err(StoreError::new(StoreErrorKind::Unavailable, reason)),
        }
    }

    /// Checks the size of a text.
    fn fits_bytes(&self, key: &EntryKey, bytes: usize) -> Result<(), StoreError> {
        let limit = self.max_file_bytes;
        if bytes <= limit {
            return Ok(());
        }
        Err(refused(format!(
            "{key}: longer than the limit of {limit} bytes (max_file_bytes)"
        )))
    }

    fn put(
        &self,
        kind: EntryKind,
        key: &EntryKey,
        content: &DefinitionContent,
    ) -> Result<(), StoreError> {
        self.fits_bytes(key, content.bytes())?;
        self.with_write_lock(false, || {
            // The claims are read with the write lock, because another process may have changed the
            // file format.
            let before = self.claims(kind, key)?.into_iter().next();
            let before = before.as_ref().map(|document| &*document.path);
            write::write(&self.roots, kind, key, content, before)
        })
    }

    /// Removes the file that a scan finds, so a key cannot refer to any other file.
    fn remove(&self, kind: EntryKind, key: &EntryKey) -> Result<bool, StoreError> {
        self.with_write_lock(false, || match self.claims(kind, key)?.first() {
            Some(document) => write::remove(&document.path),
            None => Ok(false),
        })
    }
}

/// Returns the locations that differ between two snapshots.
fn changed<'a>(
    before: &'a FolderSnapshot,
    now: &'a FolderSnapshot,
) -> BTreeSet<&'a (EntryKind, EntryKey)> {
    let same = |at| before.documents.get(at) == now.documents.get(at);
    let (old, new) = (before.documents.keys(), now.documents.keys());
    old.chain(new).filter(|at| !same(at)).collect()
}

fn of_kind(snapshot: &FolderSnapshot, kind: EntryKind) -> impl Iterator<Item = &FolderEntry> {
    let found = snapshot.documents.iter();
    let found = found.filter(move |(at, _)| at.0 == kind);
    found.map(|(_, document)| document)
}

impl Store for FolderStore {
    fn describe(&self) -> String {
        format!("folder {}", self.folder.name)
    }

    fn load(&self, kind: EntryKind) -> BoxFuture<'_, Result<Vec<StoreEntry>, StoreError>> {
        let entries = move |snapshot: &FolderSnapshot| {
            of_kind(snapshot, kind)
                .map(|document| document.entry.clone())
                .collect()
        };
        async move { self.folder.with(entries) }.boxed()
    }

    fn keys(&self, kind: EntryKind) -> BoxFuture<'_, Result<Vec<EntryKey>, StoreError>> {
        let keys = move |snapshot: &FolderSnapshot| {
            of_kind(snapshot, kind)
                .map(|document| document.entry.key.clone())
                .collect()
        };
        async move { self.folder.with(keys) }.boxed()
    }

    /// An invalid file has no text here; loading it reports the error.
    fn get<'a>(
        &'a self,
        kind: EntryKind,
        keys: &'a [EntryKey],
    ) -> BoxFuture<'a, Result<Vec<Option<Arc<str>>>, StoreError>> {
        let texts = move |snapshot: &FolderSnapshot| {
            let entry = |key: &EntryKey| Some(&snapshot.documents.get(&(kind, key.clone()))?.entry);
            // Invalid labels must be distinguishable from missing ones.
            let has_text = |entry: &StoreEntry| entry.problem.is_none() || kind == EntryKind::Label;
            let text = |entry: &StoreEntry| has_text(entry).then(|| entry.text.clone());
            keys.iter().map(|key| entry(key).and_then(text)).collect()
        };
        async move { self.folder.with(texts) }.boxed()
    }

    fn entries<'a>(
        &'a self,
        kind: EntryKind,
        keys: &'a [EntryKey],
    ) -> BoxFuture<'a, Result<Vec<Option<StoreEntry>>, StoreError>> {
        let entries = move |snapshot: &FolderSnapshot| {
            let document = |key: &EntryKey| snapshot.documents.get(&(kind, key.clone()));
            let entry = |key: &EntryKey| document(key).map(|document| document.entry.clone());
            keys.iter().map(entry).collect()
        };
        async move { self.folder.with(entries) }.boxed()
    }

    fn put<'a>(
        &'a self,
        kind: EntryKind,
        key: &'a EntryKey,
        text: &'a str,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        let (key, content) = (key.clone(), DefinitionContent::new(text));
        async move {
            let work = move |folder: &FolderInner| {
                // The snapshot is updated immediately, so writers read their own writes without
                // waiting for a notification.
                let written = folder.put(kind, &key, &content);
                folder.refresh(&[(kind, key)]);
                written
            };
            in_background(&self.folder, work).await?
        }
        .boxed()
    }

    fn remove<'a>(
        &'a self,
        kind: EntryKind,
        key: &'a EntryKey,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        let key = key.clone();
        async move {
            let work = move |folder: &FolderInner| {
                let removed = folder.remove(kind, &key);
                folder.refresh(&[(kind, key)]);
                removed
            };
            in_background(&self.folder, work).await?
        }
        .boxed()
    }

    fn changes(&self) -> Changes {
        self.folder.hub.stream()
    }

    /// Scans the folder immediately.
    fn sync(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        async move {
            in_background(&self.folder, FolderInner::rescan).await?;
            self.folder.with(|_| ())
        }
        .boxed()
    }

    fn health(&self) -> Health {
        match &**self.folder.snapshot.load() {
            Ok(_) => Health::Ready,
            Err(reason) => Health::Away {
                reason: reason.clone(),
            },
        }
    }

    fn history(&self) -> Option<&dyn HistoryStore> {
        Some(self)
    }
}
