//! A watched folder of definitions.
//!
//! Subfolders are the kinds: `extensions/`, `prompts/` (or `templates/`), `environs/`, `tools/`,
//! `agents/`, `databases/`. Nested folders and the file's stem are the segments of the key:
//! `environs/vscode/lang.json` is `vscode:lang`. Files are JSON or YAML; among prompts also bare
//! templates (`.gotmpl` and `.tmpl` for Go's format, `.jinja`, `.hbs`, `.mustache`, `.liquid`,
//! `.sk`, `.fstring` and so on), prompt files (`.prompt`, `.prompty`, a folder with `skprompt.txt`)
//! and scripts (`.ai.yaml`, `.ai.yml`).

pub(crate) mod document;
mod place;
mod scan;
mod watch;

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;
use futures_util::FutureExt;
use quillet_core::BoxFuture;
use quillet_core::history::Content;
use quillet_core::store::{
    Change, Changes, Entry, Health, Key, Kind, Store, StoreError, StoreErrorKind,
};
use tokio::task::spawn_blocking;
use tokio_util::task::AbortOnDropHandle;

use crate::StoreOptions;
use crate::changes::Hub;
pub use place::folders;
pub(crate) use place::kind_of;
use place::refused;
pub use scan::entry_of_file;
use scan::{Document, Snapshot};
use watch::Watch;

/// A store in a folder.
#[derive(Debug)]
pub struct FolderStore {
    folder: Arc<Folder>,
    _watcher: AbortOnDropHandle<()>,
}

/// What the store and its watcher share.
#[derive(Debug)]
struct Folder {
    /// Absolute; may be a link.
    path: PathBuf,
    /// As the user wrote it.
    name: String,
    max_file_bytes: usize,
    /// What the folder held when it was read last, or why it could not be read.
    snapshot: ArcSwap<Result<Snapshot, String>>,
    /// Held while the folder is read or written, so that one looks at a time.
    looking: Mutex<()>,
    hub: Hub,
}

impl FolderStore {
    /// Opens a folder, reads it, and watches it from now on. Must be called inside
    /// a Tokio runtime.
    ///
    /// # Errors
    /// `Configuration` if there is no such folder, or it cannot be read.
    pub async fn open(path: &Path, options: &StoreOptions) -> Result<Self, StoreError> {
        let (path, max_file_bytes) = (path.to_owned(), options.max_file_bytes);
        let opening = spawn_blocking(move || Folder::open(&path, max_file_bytes));
        let folder = opening.await.map_err(|error| failed(&error))??;
        let watcher = tokio::spawn(look_again(folder.clone(), Watch::new(&folder.path)));
        // Catches what was written between the first look and the watch.
        in_background(&folder, Folder::look).await?;
        Ok(FolderStore {
            folder,
            _watcher: AbortOnDropHandle::new(watcher),
        })
    }

    /// Writes a definition as a file in the form that it was kept in, and makes no version of it.
    ///
    /// # Errors
    /// `Refused` for a key that is no path, and where the system refuses.
    pub async fn write_file(
        &self,
        kind: Kind,
        key: &Key,
        content: &Content,
    ) -> Result<(), StoreError> {
        let (key, content) = (key.clone(), content.clone());
        let work = move |folder: &Folder| {
            let written = folder.write(kind, &key, &content.text);
            folder.look();
            written
        };
        in_background(&self.folder, work).await?
    }
}

async fn look_again(folder: Arc<Folder>, mut watch: Watch) {
    loop {
        if !watch.changed().await || !folder.is_there() {
            watch = Watch::new(&folder.path);
        }
        let _ = in_background(&folder, Folder::look).await;
    }
}

/// Runs file work where it may block.
async fn in_background<T: Send + 'static>(
    folder: &Arc<Folder>,
    work: impl FnOnce(&Folder) -> T + Send + 'static,
) -> Result<T, StoreError> {
    let folder = folder.clone();
    let done = spawn_blocking(move || work(&folder)).await;
    done.map_err(|error| failed(&error))
}

fn failed(error: &tokio::task::JoinError) -> StoreError {
    StoreError::new(StoreErrorKind::Unavailable, error.to_string())
}

impl Folder {
    fn open(path: &Path, max_file_bytes: usize) -> Result<Arc<Self>, StoreError> {
        let name = path.display().to_string();
        let wrong = |error: io::Error| {
            let mend = match error.kind() {
                io::ErrorKind::NotFound => ": make it, with prompts/, tools/, environs/ inside",
                _ => "",
            };
            let message = format!("store folder {name}: {error}{mend}");
            StoreError::new(StoreErrorKind::Configuration, message)
        };
        let path = std::path::absolute(path).map_err(wrong)?;
        let snapshot = scan::scan(&path, max_file_bytes).map_err(wrong)?;
        Ok(Arc::new(Folder {
            path,
            name,
            max_file_bytes,
            snapshot: ArcSwap::from_pointee(Ok(snapshot)),
            looking: Mutex::new(()),
            hub: Hub::new(),
        }))
    }

    fn is_there(&self) -> bool {
        self.snapshot.load().is_ok()
    }

    /// Reads the folder again and reports what is different.
    fn look(&self) {
        let _one = self.looking.lock().unwrap_or_else(PoisonError::into_inner);
        let now = scan::scan(&self.path, self.max_file_bytes);
        let now = Arc::new(now.map_err(|error| format!("folder {}: {error}", self.name)));
        let before = self.snapshot.swap(now.clone());
        match (&*before, &*now) {
            (Ok(before), Ok(now)) => self.tell(before, now),
            (Err(_), Ok(_)) => self.hub.send(Change::All),
            (Ok(_), Err(reason)) => tracing::warn!(%reason, "store is away"),
            (Err(_), Err(_)) => {}
        }
    }

    fn tell(&self, before: &Snapshot, now: &Snapshot) {
        let same = |at| before.documents.get(at) == now.documents.get(at);
        let (old, new) = (before.documents.keys(), now.documents.keys());
        let changed: BTreeSet<&(Kind, Key)> = old.chain(new).filter(|at| !same(at)).collect();
        let mut prompts = before.others != now.others;
        for at in changed {
            let document = now.documents.get(at).or(before.documents.get(at));
            let is_json = document.is_some_and(|it| it.path.extension() == Some("json".as_ref()));
            match at {
                (Kind::Prompt, _) if !is_json => prompts = true,
                (kind, key) => self.hub.send(Change::Entry(*kind, key.clone())),
            }
        }
        // A prompt file is more than its text: its name says how it is read, and
        // files beside it take part.
        if prompts {
            self.hub.send(Change::Kind(Kind::Prompt));
        }
    }

    fn with<T>(&self, look: impl FnOnce(&Snapshot) -> T) -> Result<T, StoreError> {
        match &**self.snapshot.load() {
            Ok(snapshot) => Ok(look(snapshot)),
            Err(reason) => Err(StoreError::new(StoreErrorKind::Unavailable, reason)),
        }
    }

    fn path_now(&self, kind: Kind, key: &Key) -> Result<Option<PathBuf>, StoreError> {
        let at = (kind, key.clone());
        self.with(|snapshot| Some(snapshot.documents.get(&at)?.path.clone()))
    }

    /// Writes beside the place and renames, so that no reader sees half a file. A file
    /// of another form (YAML, a bare template) makes way for the new one.
    fn write(&self, kind: Kind, key: &Key, text: &str) -> Result<(), StoreError> {
        if text.len() > self.max_file_bytes {
            let limit = self.max_file_bytes;
            return Err(refused(format!(
                "{key}: longer than the limit of {limit} bytes (max_file_bytes)"
            )));
        }
        let relative = place::path_of(kind, key)?;
        let before = self.path_now(kind, key)?;
        let parent = relative.parent().unwrap_or(Path::new(""));
        let parent = place::make_folders(&self.path, parent)?;
        let stem = relative.file_name().unwrap_or_default().to_string_lossy();
        let (ending, content) = document::written(kind, text);
        let path = parent.join(format!("{stem}{ending}"));
        let temporary = parent.join(format!(".{stem}{ending}.new"));
        let written = make_file(&temporary, &content, kind == Kind::Database);
        let written = written.and_then(|()| fs::rename(&temporary, &path));
        written.map_err(|error| refused(format!("{}: {error}", path.display())))?;
        match before {
            Some(before) if before != path => delete(&before).map(drop),
            _ => Ok(()),
        }
    }

    /// Removes the file that the scan found, so no key can name another one.
    fn delete(&self, kind: Kind, key: &Key) -> Result<bool, StoreError> {
        match self.path_now(kind, key)? {
            Some(path) => delete(&path),
            None => Ok(false),
        }
    }
}

/// Makes a file that is not there yet: what a stopped process or somebody else has left in
/// its place is not written to. The addresses of databases hold passwords, so that their
/// files are private, for their owner only.
fn make_file(path: &Path, content: &str, private: bool) -> io::Result<()> {
    delete(path).map_err(io::Error::other)?;
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    if private {
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    }
    #[cfg(not(unix))]
    let _ = private;
    options.open(path)?.write_all(content.as_bytes())
}

fn delete(path: &Path) -> Result<bool, StoreError> {
    match fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(refused(format!("{}: {error}", path.display()))),
    }
}

fn of_kind(snapshot: &Snapshot, kind: Kind) -> impl Iterator<Item = &Document> {
    let found = snapshot.documents.iter();
    let found = found.filter(move |(at, _)| at.0 == kind);
    found.map(|(_, document)| document)
}

impl Store for FolderStore {
    fn describe(&self) -> String {
        format!("folder {}", self.folder.name)
    }

    fn load(&self, kind: Kind) -> BoxFuture<'_, Result<Vec<Entry>, StoreError>> {
        let entries = move |snapshot: &Snapshot| {
            of_kind(snapshot, kind)
                .map(|document| document.entry.clone())
                .collect()
        };
        async move { self.folder.with(entries) }.boxed()
    }

    fn keys(&self, kind: Kind) -> BoxFuture<'_, Result<Vec<Key>, StoreError>> {
        let keys = move |snapshot: &Snapshot| {
            of_kind(snapshot, kind)
                .map(|document| document.entry.key.clone())
                .collect()
        };
        async move { self.folder.with(keys) }.boxed()
    }

    /// A file that is broken has no text here; loading reports what is wrong with it.
    fn get<'a>(
        &'a self,
        kind: Kind,
        keys: &'a [Key],
    ) -> BoxFuture<'a, Result<Vec<Option<Arc<str>>>, StoreError>> {
        let texts = move |snapshot: &Snapshot| {
            let entry = |key: &Key| Some(&snapshot.documents.get(&(kind, key.clone()))?.entry);
            let text = |entry: &Entry| entry.problem.is_none().then(|| entry.text.clone());
            keys.iter().map(|key| entry(key).and_then(text)).collect()
        };
        async move { self.folder.with(texts) }.boxed()
    }

    fn entries<'a>(
        &'a self,
        kind: Kind,
        keys: &'a [Key],
    ) -> BoxFuture<'a, Result<Vec<Option<Entry>>, StoreError>> {
        let entries = move |snapshot: &Snapshot| {
            let document = |key: &Key| snapshot.documents.get(&(kind, key.clone()));
            let entry = |key: &Key| document(key).map(|document| document.entry.clone());
            keys.iter().map(entry).collect()
        };
        async move { self.folder.with(entries) }.boxed()
    }

    fn put<'a>(
        &'a self,
        kind: Kind,
        key: &'a Key,
        text: &'a str,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        let (key, text) = (key.clone(), text.to_owned());
        async move {
            let work = move |folder: &Folder| {
                // The look comes at once, so that writers read their own write without having to
                // wait for a notice.
                let written = folder.write(kind, &key, &text);
                folder.look();
                written
            };
            in_background(&self.folder, work).await?
        }
        .boxed()
    }

    fn remove<'a>(&'a self, kind: Kind, key: &'a Key) -> BoxFuture<'a, Result<bool, StoreError>> {
        let key = key.clone();
        async move {
            let work = move |folder: &Folder| {
                let removed = folder.delete(kind, &key);
                folder.look();
                removed
            };
            in_background(&self.folder, work).await?
        }
        .boxed()
    }

    fn changes(&self) -> Changes {
        self.folder.hub.stream()
    }

    /// Looks at the folder now.
    fn sync(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        async move {
            in_background(&self.folder, Folder::look).await?;
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
}
