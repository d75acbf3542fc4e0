//! The history folder next to the store's folder: the lock that allows one writer among all
//! processes, and the files of the histories.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use quillet_core::history::{Version, VersionRecord};
use quillet_core::lock::lock;
use quillet_core::store::{EntryKey, EntryKind, StoreError, StoreErrorKind};

use super::history_index::{FileIdentity, HistoryIndex, newest};
use super::key_path::{self, refused};
use super::write::make_private;
use super::{FolderInner, lines, scan};
use crate::history::VersionChain;

/// File that a writer locks.
const LOCK: &str = ".lock";

/// An open history: its index and its file.
pub(super) struct HistoryFile {
    pub(super) book: Arc<HistoryIndex>,
    file: Option<File>,
    name: String,
}

impl HistoryFile {
    /// Returns a version with its content.
    pub(super) fn version_record(
        &mut self,
        version: &Version,
    ) -> Result<VersionRecord, StoreError> {
        let content = match &mut self.file {
            Some(file) => self.book.content(file, version),
            None => Ok(None),
        };
        Ok(VersionRecord {
            version: version.clone(),
            content: content.map_err(|error| broken(&self.name, &error))?,
        })
    }

    /// Returns all versions; only the newest has its content.
    pub(super) fn chain(&mut self) -> Result<VersionChain, StoreError> {
        let mut chain = self.book.chain.clone();
        if let Some(head) = chain.head().cloned() {
            chain.add(self.version_record(&head)?);
        }
        Ok(chain)
    }
}

fn broken(name: &str, error: &io::Error) -> StoreError {
    let kind = match error.kind() {
        io::ErrorKind::InvalidData => StoreErrorKind::Corrupt,
        _ => StoreErrorKind::Unavailable,
    };
    StoreError::new(kind, format!("{name}: {error}"))
}

impl FolderInner {
    /// Runs `work` with the lock that excludes all other writers, also in other processes, after
    /// completing any interrupted write. `make` tells whether to create a missing folder; without
    /// histories there are no other writers.
    pub(super) fn with_write_lock<T>(
        &self,
        make: bool,
        work: impl FnOnce() -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let writing = &self.shelf.writing;
        // Lock order: this mutex of the process, then the file lock that excludes other processes.
        let _one = lock(writing);
        if make {
            key_path::make_root(&self.roots.history)?;
        } else if !self.roots.history.is_dir() {
            // Without histories there is nothing to coordinate, and a plain write should not create
            // the folder.
            return work();
        }
        let _lock = self.lock()?;
        // The previous writer may have crashed. The plan of a crashed writer must be completed
        // before any read.
        self.finish()?;
        work()
    }

    /// Completes the interrupted write of a killed process. If this process cannot write here, the
    /// next writer completes it.
    pub(super) fn finish_at_last(&self) {
        if let Err(error) = self.with_write_lock(false, || Ok(())) {
            tracing::debug!(%error, "cannot write the history folder");
        }
    }

    /// Acquires the lock. Closing the returned file releases it.
    fn lock(&self) -> Result<File, StoreError> {
        let path = self.history_path(Path::new(LOCK))?;
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true);
        let file = options.open(&path).and_then(|file| {
            // The operating system releases the lock when the process dies, so a crash never leaves
            // a stale lock.
            file.lock()?;
            Ok(file)
        });
        file.map_err(|error| refused(format!("{}: {error}", path.display())))
    }

    /// Returns a path in the history folder.
    ///
    /// # Errors
    /// `Refused` for a symbolic link that leads out of the folder.
    pub(super) fn history_path(&self, relative: &Path) -> Result<PathBuf, StoreError> {
        let root = &self.roots.history;
        let path = root.join(relative);
        if fs::symlink_metadata(&path).is_err() {
            return Ok(path);
        }
        let root = fs::canonicalize(root).map_err(|error| refused(error.to_string()))?;
        match key_path::inside(&root, &path) {
            Some(_) => Ok(path),
            None => Err(refused(format!(
                "{} is a link that leads out of the history folder",
                path.display()
            ))),
        }
    }

    /// Opens a file in the history folder; `None` if it does not exist.
    pub(super) fn open_beside(&self, relative: &Path) -> Result<Option<File>, StoreError> {
        let path = self.history_path(relative)?;
        if fs::symlink_metadata(&path).is_err() {
            return Ok(None);
        }
        let wrong = |why| refused(format!("{}: {why}", path.display()));
        scan::open(&path).map(Some).map_err(wrong)
    }

    /// Returns the path of a history file; `None` for a key that is not a valid path.
    fn book_path(kind: EntryKind, key: &EntryKey) -> Option<PathBuf> {
        let mut path = key_path::below(kind.word(), key).ok()?.into_os_string();
        path.push(".jsonl");
        Some(path.into())
    }

    /// Returns the newest version without reading the others.
    pub(super) fn newest(
        &self,
        kind: EntryKind,
        key: &EntryKey,
    ) -> Result<Option<Version>, StoreError> {
        let Some(path) = FolderInner::book_path(kind, key) else {
            return Ok(None);
        };
        let Some(mut file) = self.open_beside(&path)? else {
            return Ok(None);
        };
        newest(&mut file).map_err(|error| broken(&self.shown(&path), &error))
    }

    /// Opens the history of a definition.
    ///
    /// # Errors
    /// `Corrupt` if a user has made the file invalid.
    pub(super) fn history(
        &self,
        kind: EntryKind,
        key: &EntryKey,
    ) -> Result<HistoryFile, StoreError> {
        let path = FolderInner::book_path(kind, key).unwrap_or_default();
        let name = self.shown(&path);
        let none = HistoryFile {
            book: Arc::default(),
            file: None,
            name: name.clone(),
        };
        if path.as_os_str().is_empty() {
            return Ok(none);
        }
        let Some(mut file) = self.open_beside(&path)? else {
            return Ok(none);
        };
        let at = (kind, key.clone());
        let about = file.metadata().map_err(|error| broken(&name, &error))?;
        let book = match self.shelf.find(&at, FileIdentity::of(&about)) {
            Some(book) => book,
            None => {
                let book = HistoryIndex::read(&mut file, self.longest_line());
                let book = Arc::new(book.map_err(|error| broken(&name, &error))?);
                self.shelf.keep(at, book.clone());
                book
            }
        };
        Ok(HistoryFile {
            book,
            file: Some(file),
            name,
        })
    }

    /// Appends lines to a history file.
    pub(super) fn add(
        &self,
        kind: EntryKind,
        key: &EntryKey,
        text: &str,
    ) -> Result<(), StoreError> {
        if text.is_empty() {
            return Ok(());
        }
        let before = self.history(kind, key)?.book;
        let path = key_path::below(kind.word(), key)?;
        let folder = path.parent().unwrap_or(Path::new(""));
        key_path::make_folders(&self.roots.history, folder)?;
        let path = self.history_path(&FolderInner::book_path(kind, key).unwrap_or_default())?;
        let wrong = |error: io::Error| refused(format!("{}: {error}", path.display()));
        let added = lines::append(&path, text, kind == EntryKind::Database);
        let (at, about) = added.map_err(wrong)?;
        let now = HistoryIndex::clone(&before).with(at, text, FileIdentity::of(&about));
        self.shelf
            .keep((kind, key.clone()), Arc::new(now.map_err(wrong)?));
        Ok(())
    }

    /// Rewrites a history file with only these versions. The new file replaces the old one
    /// atomically.
    pub(super) fn rewrite(
        &self,
        kind: EntryKind,
        key: &EntryKey,
        opened: &mut HistoryFile,
        chain: &VersionChain,
    ) -> Result<(), StoreError> {
        let (Some(path), Some(file)) = (FolderInner::book_path(kind, key), &mut opened.file) else {
            return Ok(());
        };
        let path = self.history_path(&path)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let temporary = path.with_file_name(format!(".{name}.new"));
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        make_private(&mut options, kind == EntryKind::Database);
        super::write::delete(&temporary)?;
        let written = options.open(&temporary).and_then(|new| {
            let mut out = io::BufWriter::new(new);
            opened.book.copy(file, chain, &mut out)?;
            // The file is synced before the rename, or a power failure could leave an empty file
            // under the old name.
            out.into_inner()?.sync_data()?;
            fs::rename(&temporary, &path)
        });
        written.map_err(|error| broken(&opened.name, &error))
    }

    /// Returns the path as error messages show it.
    fn shown(&self, relative: &Path) -> String {
        self.roots.history.join(relative).display().to_string()
    }

    /// A line contains at most two texts, and each of their bytes becomes at most six.
    fn longest_line(&self) -> u64 {
        let most = u64::try_from(self.max_file_bytes).unwrap_or(u64::MAX);
        // JSON escapes use up to six bytes for one byte of text.
        most.saturating_mul(12).saturating_add(1 << 20)
    }
}
