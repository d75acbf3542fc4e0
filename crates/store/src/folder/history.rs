//! Version histories of the definitions in a folder.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use futures_util::FutureExt;
use quillet_core::BoxFuture;
use quillet_core::history::{
    Commit, CommitResult, DefinitionContent, HistoryImport, HistoryStore, LabelMove, Labels,
    LogEntry, LogFilter, STORE, Version, VersionRecord, label_key,
};
use quillet_core::store::{EntryKey, EntryKind, StoreEntry, StoreError, StoreErrorKind};

use super::lines::{self, ReverseLines};
use super::plan::CommitPlan;
use super::scan::{self, FolderEntry};
use super::stable_read::{is_moving, read_stable};
use super::{FolderInner, FolderStore, in_background, key_path};
use crate::history::{apply_moves, committed, imported, stored};

/// File name of the audit log.
const LOG: &str = "log.jsonl";

impl FolderInner {
    /// Reads the files that currently claim a key.
    pub(super) fn claims(
        &self,
        kind: EntryKind,
        key: &EntryKey,
    ) -> Result<Vec<FolderEntry>, StoreError> {
        scan::claims(&self.roots, kind, key, self.max_file_bytes).map_err(|error| {
            let message = format!("folder {}: {error}", self.name);
            StoreError::new(StoreErrorKind::Unavailable, message)
        })
    }

    /// Reads the claims after the first file is no longer being written.
    pub(super) fn settled_claims(
        &self,
        kind: EntryKind,
        key: &EntryKey,
    ) -> Result<Vec<FolderEntry>, StoreError> {
        let place = (kind, key.clone());
        let known = self.with(|snapshot| snapshot.documents.get(&place).cloned())?;
        let is_moving = |claims: &Vec<FolderEntry>| is_moving(known.as_ref(), claims.first());
        read_stable(|| self.claims(kind, key), is_moving)
    }

    /// Returns the current content of a definition.
    ///
    /// # Errors
    /// `Corrupt` if the file cannot be read, because its content is unknown.
    pub(super) fn current_content(
        &self,
        kind: EntryKind,
        key: &EntryKey,
    ) -> Result<Option<DefinitionContent>, StoreError> {
        content(self.claims(kind, key)?)
    }

    /// Returns the stored labels of a definition.
    pub(super) fn label_text(
        &self,
        kind: EntryKind,
        key: &EntryKey,
    ) -> Result<Option<Arc<str>>, StoreError> {
        let content = self.current_content(EntryKind::Label, &label_key(kind, key))?;
        Ok(content.map(|content| content.text))
    }

    fn fits(&self, key: &EntryKey, content: &DefinitionContent) -> Result<(), StoreError> {
        self.fits_bytes(key, content.text.len())?;
        let beside = content.companion.as_ref();
        self.fits_bytes(key, beside.map_or(0, |(_, text)| text.len()))
    }

    /// Computes the plan of a commit, and its result.
    pub(super) fn planned(
        &self,
        commit: &Commit,
    ) -> Result<(CommitPlan, CommitResult), StoreError> {
        let Commit { kind, key, .. } = commit;
        let mut now = self.current_content(*kind, key)?;
        let mut chain = self.history(*kind, key)?.chain()?;
        if !chain.is_at(now.as_ref()) {
            // Another program wrote the text. Wait until it is complete before it becomes a
            // version.
            now = self.settled_claims(*kind, key).and_then(content)?;
        }
        let last = chain.last();
        let (version, is_new) = chain.commit(now.as_ref(), commit)?;
        let before = self.label_text(*kind, key)?;
        let labels = committed(commit, before.as_deref(), version.number)?;
        let plan = CommitPlan {
            kind: kind.word().to_owned(),
            key: key.as_str().into(),
            versions: chain.since(last),
            before: now,
            labels: [before, label_text(&labels)],
        };
        let done = CommitResult {
            version,
            is_new,
            labels,
        };
        Ok((plan, done))
    }

    pub(super) fn commit(&self, commit: &Commit) -> Result<CommitResult, StoreError> {
        let Commit { kind, key, .. } = commit;
        key_path::path_of(*kind, key)?;
        if let Some(content) = &commit.content {
            self.fits(key, content)?;
        }
        // This trial run does not take the lock, because locking would create the folder.
        if !self.roots.history.is_dir() {
            self.planned(commit)?;
        }
        let done = self.with_write_lock(true, || {
            let (plan, done) = self.planned(commit)?;
            self.execute(&plan)?;
            // Versions are pruned after the commit, because the new version counts, and its labels
            // protect the versions that they point to.
            self.prune(*kind, key, &done.labels)?;
            Ok(done)
        });
        self.look_at(*kind, key);
        done
    }

    fn import(&self, import: &HistoryImport) -> Result<usize, StoreError> {
        let HistoryImport { kind, key, .. } = import;
        key_path::path_of(*kind, key)?;
        let contents = import.versions.iter().filter_map(|it| it.content.as_ref());
        for content in contents {
            self.fits(key, content)?;
        }
        let added = self.with_write_lock(true, || {
            let now = self.current_content(*kind, key)?;
            let mut chain = self.history(*kind, key)?.chain()?;
            let last = chain.last();
            // An unrecorded edit becomes a version first, so the import does not overwrite it
            // without a trace.
            chain.observe(now.as_ref(), STORE);
            let added = chain.extend(key, &import.versions)?;
            let before = self.label_text(*kind, key)?;
            let labels = imported(import, before.as_deref(), |number| chain.points_at(number))?;
            let plan = CommitPlan {
                kind: kind.word().to_owned(),
                key: key.as_str().into(),
                versions: chain.since(last),
                before: now,
                labels: [before, label_text(&labels)],
            };
            self.execute(&plan)?;
            Ok(added)
        });
        self.look_at(*kind, key);
        added
    }

    /// Whether the newest version equals the current content at the last scan.
    fn is_known(&self, kind: EntryKind, key: &EntryKey) -> Result<bool, StoreError> {
        let place = (kind, key.clone());
        let entry = self.with(|snapshot| Some(snapshot.documents.get(&place)?.entry.clone()))?;
        if entry.as_ref().is_some_and(is_unreadable) {
            return Ok(true);
        }
        let now = entry.as_ref().map(DefinitionContent::of);
        let head = self.newest(kind, key)?.filter(|head| !head.removed);
        match (head, now) {
            (None, None) => Ok(true),
            (Some(head), Some(now)) if head.digest == now.digest() => Ok(true),
            (Some(_), Some(now)) => Ok(self.history(kind, key)?.chain()?.is_at(Some(&now))),
            _ => Ok(false),
        }
    }

    pub(super) fn observe(
        &self,
        kind: EntryKind,
        keys: &[EntryKey],
        author: &str,
    ) -> Result<Vec<(EntryKey, Version)>, StoreError> {
        match keys {
            [key] => self.refresh_settled(&places(kind, key)),
            // One scan is cheaper than many separate reads.
            _ => self.rescan(),
        }
        // Usually nothing is new, and a read-only check does not block writers.
        let mut unknown = Vec::new();
        for key in keys {
            if !self.is_known(kind, key)? {
                unknown.push(key);
            }
        }
        if unknown.is_empty() {
            return Ok(Vec::new());
        }
        self.with_write_lock(true, || {
            let mut new = Vec::new();
            for key in unknown {
                let seen = self.observe_one(kind, key, author)?;
                new.extend(seen.map(|version| (key.clone(), version)));
            }
            Ok(new)
        })
    }

    /// Records the current content as a version, unless the newest version already has it.
    fn observe_one(
        &self,
        kind: EntryKind,
        key: &EntryKey,
        author: &str,
    ) -> Result<Option<Version>, StoreError> {
        // An unreadable file is listed as broken and gets no version.
        let Ok(now) = self.settled_claims(kind, key).and_then(content) else {
            return Ok(None);
        };
        let mut opened = self.history(kind, key)?;
        let mut chain = opened.chain()?;
        let last = chain.last();
        let Some(version) = chain.observe(now.as_ref(), author) else {
            return Ok(None);
        };
        self.add(kind, key, &opened.book.lines(&chain.since(last)))?;
        let labels = self.label_text(kind, key)?;
        // If the labels are unreadable, it is unknown which versions are needed, so none is
        // deleted.
        if let Ok(labels) = stored(key, labels.as_deref()) {
            self.prune(kind, key, &labels)?;
        }
        Ok(Some(version))
    }

    /// Deletes the oldest versions above the limit.
    fn prune(&self, kind: EntryKind, key: &EntryKey, labels: &Labels) -> Result<(), StoreError> {
        let mut opened = self.history(kind, key)?;
        if opened.book.chain.versions().count() <= self.max_versions {
            return Ok(());
        }
        let mut chain = opened.book.chain.clone();
        let dropped = chain.collect(self.max_versions, labels);
        // Usually a line that lists the dropped versions is enough; the file is rewritten only when
        // much of it is obsolete.
        if opened.book.is_worn(dropped.len()) {
            return self.rewrite(kind, key, &mut opened, &chain);
        }
        self.add(kind, key, &super::history_index::dropping(&dropped))
    }

    fn collect(
        &self,
        kind: EntryKind,
        key: &EntryKey,
        keep: usize,
    ) -> Result<Vec<u64>, StoreError> {
        self.with_write_lock(false, || {
            let labels = stored(key, self.label_text(kind, key)?.as_deref())?;
            let mut opened = self.history(kind, key)?;
            let mut chain = opened.book.chain.clone();
            let dropped = chain.collect(keep, &labels);
            if !dropped.is_empty() {
                self.rewrite(kind, key, &mut opened, &chain)?;
            }
            Ok(dropped)
        })
    }

    fn relabel(
        &self,
        kind: EntryKind,
        key: &EntryKey,
        moves: &[LabelMove],
    ) -> Result<Labels, StoreError> {
        let labels = self.with_write_lock(false, || {
            let before = self.label_text(kind, key)?;
            let known = stored(key, before.as_deref())?;
            let book = self.history(kind, key)?.book;
            let labels = apply_moves(key, &known, moves, |number| book.chain.points_at(number))?;
            let after = label_text(&labels);
            if before != after {
                self.put_labels(kind, key, after.as_deref())?;
            }
            Ok(labels)
        });
        self.look_at(kind, key);
        labels
    }

    fn kept(
        &self,
        kind: EntryKind,
        wanted: &[(EntryKey, u64)],
    ) -> Result<Vec<Option<VersionRecord>>, StoreError> {
        let one = |(key, number): &(EntryKey, u64)| {
            let mut opened = self.history(kind, key)?;
            let book = opened.book.clone();
            let version = book.chain.version(*number);
            version
                .map(|version| opened.version_record(version))
                .transpose()
        };
        wanted.iter().map(one).collect()
    }

    /// Returns the keys of all history files.
    fn known_keys(&self, kind: EntryKind) -> Result<Vec<EntryKey>, StoreError> {
        let folder = self.history_path(Path::new(kind.word()))?;
        let mut keys = BTreeSet::new();
        self.collect_keys(&folder, "", 0, &mut keys);
        Ok(keys.into_iter().collect())
    }

    fn collect_keys(
        &self,
        folder: &Path,
        prefix: &str,
        depth: usize,
        keys: &mut BTreeSet<EntryKey>,
    ) {
        let Ok(entries) = fs::read_dir(folder) else {
            return;
        };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let Some(name) = name.to_str().filter(|name| !name.starts_with('.')) else {
                continue;
            };
            // Symbolic links are not followed, because their targets do not belong to this store.
            let is_folder = entry.file_type().is_ok_and(|it| it.is_dir());
            if let Some(stem) = name.strip_suffix(".jsonl") {
                keys.insert(EntryKey::new(format!("{prefix}{stem}")));
            } else if is_folder && depth < key_path::MAX_DEPTH {
                let prefix = format!("{prefix}{name}:");
                self.collect_keys(&entry.path(), &prefix, depth + 1, keys);
            }
        }
    }

    fn note(&self, line: &LogEntry) -> Result<(), StoreError> {
        self.with_write_lock(true, || {
            // The number is read under the lock, so two processes never assign the same number.
            let last = self.log(&LogFilter::default(), None, 1)?;
            let number = last.first().map_or(1, |line| line.number + 1);
            let line = LogEntry {
                number,
                ..line.clone()
            };
            let text = serde_json::to_string(&line).unwrap_or_default() + "\n";
            let path = self.history_path(Path::new(LOG))?;
            let wrong = |error| key_path::refused(format!("{}: {error}", path.display()));
            lines::append(&path, &text, false).map(drop).map_err(wrong)
        })
    }

    fn log(
        &self,
        filter: &LogFilter,
        before: Option<u64>,
        limit: usize,
    ) -> Result<Vec<LogEntry>, StoreError> {
        let Some(mut file) = self.open_beside(Path::new(LOG))? else {
            return Ok(Vec::new());
        };
        let wrong = |error: &dyn std::fmt::Display| {
            let path = self.roots.history.join(LOG);
            let message = format!("{}: {error}", path.display());
            StoreError::new(StoreErrorKind::Corrupt, message)
        };
        let mut lines = ReverseLines::new(&mut file).map_err(|error| wrong(&error))?;
        let mut found = Vec::new();
        while found.len() < limit
            && let Some(line) = lines.next().map_err(|error| wrong(&error))?
        {
            let line: LogEntry = serde_json::from_slice(&line).map_err(|error| wrong(&error))?;
            if before.is_none_or(|before| line.number < before) && filter.matches(&line) {
                found.push(line);
            }
        }
        Ok(found)
    }

    /// Reads a definition and its labels again.
    fn look_at(&self, kind: EntryKind, key: &EntryKey) {
        self.refresh(&places(kind, key));
    }
}

/// Locations of a definition and its labels.
fn places(kind: EntryKind, key: &EntryKey) -> [(EntryKind, EntryKey); 2] {
    [
        (kind, key.clone()),
        (EntryKind::Label, label_key(kind, key)),
    ]
}

/// Returns the content of the first file that claims a key.
fn content(claims: Vec<FolderEntry>) -> Result<Option<DefinitionContent>, StoreError> {
    let Some(document) = claims.into_iter().next() else {
        return Ok(None);
    };
    let entry = &document.entry;
    match &entry.problem {
        Some(problem) if is_unreadable(entry) => Err(StoreError::new(
            StoreErrorKind::Corrupt,
            format!("{problem}; fix or remove the file"),
        )),
        _ => Ok(Some(DefinitionContent::of(entry))),
    }
}

/// Whether the file of an entry cannot be read, so there is no content to store.
fn is_unreadable(entry: &StoreEntry) -> bool {
    entry.problem.is_some() && entry.text.is_empty()
}

/// Returns the text of a label file, which users may edit.
fn label_text(labels: &Labels) -> Option<Arc<str>> {
    if labels.0.is_empty() {
        return None;
    }
    // The labels are pretty-printed with a final line break, because users edit this file and
    // commit it to Git.
    let text = serde_json::to_string_pretty(labels).unwrap_or_default();
    Some((text + "\n").into())
}

impl HistoryStore for FolderStore {
    fn commit<'a>(&'a self, commit: &'a Commit) -> BoxFuture<'a, Result<CommitResult, StoreError>> {
        let commit = commit.clone();
        self.run_in_background(move |folder| folder.commit(&commit))
    }

    fn observe<'a>(
        &'a self,
        kind: EntryKind,
        keys: &'a [EntryKey],
        author: &'a str,
    ) -> BoxFuture<'a, Result<Vec<(EntryKey, Version)>, StoreError>> {
        let (keys, author) = (keys.to_vec(), author.to_owned());
        self.run_in_background(move |folder| folder.observe(kind, &keys, &author))
    }

    fn versions<'a>(
        &'a self,
        kind: EntryKind,
        key: &'a EntryKey,
        before: Option<u64>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Version>, StoreError>> {
        let key = key.clone();
        self.run_in_background(move |folder| {
            Ok(folder.history(kind, &key)?.book.chain.below(before, limit))
        })
    }

    fn load_versions<'a>(
        &'a self,
        kind: EntryKind,
        wanted: &'a [(EntryKey, u64)],
    ) -> BoxFuture<'a, Result<Vec<Option<VersionRecord>>, StoreError>> {
        let wanted = wanted.to_vec();
        self.run_in_background(move |folder| folder.kept(kind, &wanted))
    }

    fn find<'a>(
        &'a self,
        kind: EntryKind,
        key: &'a EntryKey,
        digits: &'a str,
    ) -> BoxFuture<'a, Result<Option<Version>, StoreError>> {
        let (key, digits) = (key.clone(), digits.to_owned());
        self.run_in_background(move |folder| {
            Ok(folder.history(kind, &key)?.book.chain.find(&digits))
        })
    }

    fn relabel<'a>(
        &'a self,
        kind: EntryKind,
        key: &'a EntryKey,
        moves: &'a [LabelMove],
    ) -> BoxFuture<'a, Result<Labels, StoreError>> {
        let (key, moves) = (key.clone(), moves.to_vec());
        self.run_in_background(move |folder| folder.relabel(kind, &key, &moves))
    }

    fn import<'a>(&'a self, import: &'a HistoryImport) -> BoxFuture<'a, Result<usize, StoreError>> {
        let import = import.clone();
        self.run_in_background(move |folder| folder.import(&import))
    }

    fn collect<'a>(
        &'a self,
        kind: EntryKind,
        key: &'a EntryKey,
        keep: usize,
    ) -> BoxFuture<'a, Result<Vec<u64>, StoreError>> {
        let key = key.clone();
        self.run_in_background(move |folder| folder.collect(kind, &key, keep))
    }

    fn keys(&self, kind: EntryKind) -> BoxFuture<'_, Result<Vec<EntryKey>, StoreError>> {
        self.run_in_background(move |folder| folder.known_keys(kind))
    }

    fn note<'a>(&'a self, entry: &'a LogEntry) -> BoxFuture<'a, Result<(), StoreError>> {
        let entry = entry.clone();
        self.run_in_background(move |folder| folder.note(&entry))
    }

    fn log<'a>(
        &'a self,
        filter: &'a LogFilter,
        before: Option<u64>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<LogEntry>, StoreError>> {
        let filter = filter.clone();
        self.run_in_background(move |folder| folder.log(&filter, before, limit))
    }
}

impl FolderStore {
    /// Runs file operations where they may block.
    fn run_in_background<T: Send + 'static>(
        &self,
        work: impl FnOnce(&FolderInner) -> Result<T, StoreError> + Send + 'static,
    ) -> BoxFuture<'_, Result<T, StoreError>> {
        async move { in_background(&self.folder, work).await? }.boxed()
    }
}
