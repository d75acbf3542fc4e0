//! Version histories of the definitions in an SQLite file.
//!
//! A definition, its versions and its labels change in one transaction, which excludes all other
//! writers from its start.

use futures_util::FutureExt;
use quillet_core::BoxFuture;
use quillet_core::history::{
    Commit, CommitResult, DefinitionContent, HistoryImport, HistoryStore, LabelMove, Labels,
    LogEntry, LogFilter, STORE, Version, VersionRecord, label_key,
};
use quillet_core::store::{EntryKey, EntryKind, StoreChange, StoreError};
use rusqlite::Connection;

use super::definitions::{put, remove, text};
use super::versions::{self, DefinitionRef};
use super::{JobError, SqliteStore};
use crate::history::{apply_moves, committed, imported, stored};

/// Returns the current content of a definition.
fn now(file: &Connection, at: DefinitionRef<'_>) -> rusqlite::Result<Option<DefinitionContent>> {
    Ok(text(file, at.kind, at.key)?.map(DefinitionContent::new))
}

fn label_text(
    file: &Connection,
    at: DefinitionRef<'_>,
) -> rusqlite::Result<Option<std::sync::Arc<str>>> {
    text(file, EntryKind::Label, &label_key(at.kind, at.key))
}

fn put_labels(file: &Connection, at: DefinitionRef<'_>, labels: &Labels) -> rusqlite::Result<()> {
    let place = label_key(at.kind, at.key);
    if labels.0.is_empty() {
        return remove(file, EntryKind::Label, &place).map(drop);
    }
    put(file, EntryKind::Label, &place, &labels.to_text())
}

/// Sets a definition to the content of a version.
fn put_content(
    file: &Connection,
    at: DefinitionRef<'_>,
    content: Option<&DefinitionContent>,
) -> rusqlite::Result<()> {
    match content {
        Some(content) => put(file, at.kind, at.key, &content.text),
        None => remove(file, at.kind, at.key).map(drop),
    }
}

fn keep(file: &Connection, commit: &Commit, most: usize) -> Result<CommitResult, JobError> {
    let at = DefinitionRef {
        kind: commit.kind,
        key: &commit.key,
    };
    let mut chain = versions::newest(file, at)?;
    let last = chain.last();
    let (version, is_new) = chain.commit(now(file, at)?.as_ref(), commit)?;
    let labels = committed(commit, label_text(file, at)?.as_deref(), version.number)?;
    for kept in chain.since(last) {
        versions::add(file, at, &kept)?;
    }
    put_content(file, at, commit.content.as_ref())?;
    put_labels(file, at, &labels)?;
    versions::collect(file, at, most, &labels)?;
    Ok(CommitResult {
        version,
        is_new,
        labels,
    })
}

/// Records the current content as a version, unless the newest version already has it.
fn observe(
    file: &Connection,
    at: DefinitionRef<'_>,
    author: &str,
    most: usize,
) -> rusqlite::Result<Option<Version>> {
    let mut chain = versions::newest(file, at)?;
    let last = chain.last();
    let new = chain.observe(now(file, at)?.as_ref(), author);
    for kept in chain.since(last) {
        versions::add(file, at, &kept)?;
    }
    let labels = label_text(file, at)?;
    // If the labels are unreadable, it is unknown which versions are needed, so none is deleted.
    if let (Some(_), Ok(labels)) = (&new, stored(at.key, labels.as_deref())) {
        versions::collect(file, at, most, &labels)?;
    }
    Ok(new)
}

fn bring(file: &Connection, import: &HistoryImport) -> Result<usize, JobError> {
    let at = DefinitionRef {
        kind: import.kind,
        key: &import.key,
    };
    let mut chain = versions::all(file, at)?;
    let last = chain.last();
    chain.observe(now(file, at)?.as_ref(), STORE);
    let added = chain.extend(at.key, &import.versions)?;
    let labels = label_text(file, at)?;
    let labels = imported(import, labels.as_deref(), |number| chain.points_at(number))?;
    for kept in chain.since(last) {
        versions::add(file, at, &kept)?;
    }
    let newest = chain
        .version_record(chain.last())
        .and_then(|kept| kept.content);
    put_content(file, at, newest.as_ref())?;
    put_labels(file, at, &labels)?;
    Ok(added)
}

fn relabel(
    file: &Connection,
    at: DefinitionRef<'_>,
    moves: &[LabelMove],
) -> Result<Labels, JobError> {
    let known = stored(at.key, label_text(file, at)?.as_deref())?;
    let mut there = Vec::new();
    let targets = moves.iter().filter_map(|one| one.to.as_ref());
    for number in targets.flat_map(|target| target.numbers()) {
        if versions::points_at(file, at, number)? {
            there.push(number);
        }
    }
    let labels = apply_moves(at.key, &known, moves, |number| there.contains(&number))?;
    put_labels(file, at, &labels)?;
    Ok(labels)
}

impl SqliteStore {
    fn tell(&self, kind: EntryKind, key: &EntryKey) {
        self.hub.send(StoreChange::Entry(kind, key.clone()));
        let place = label_key(kind, key);
        self.hub.send(StoreChange::Entry(EntryKind::Label, place));
    }

    async fn see(
        &self,
        kind: EntryKind,
        keys: &[EntryKey],
        author: &str,
    ) -> Result<Vec<(EntryKey, Version)>, StoreError> {
        // Usually nothing is new, and a read-only check does not block writers.
        let looked = keys.to_vec();
        let new = self.database.run(move |file| {
            let mut new = Vec::new();
            for key in looked {
                let at = DefinitionRef { kind, key: &key };
                if !versions::newest(file, at)?.is_at(now(file, at)?.as_ref()) {
                    new.push(key);
                }
            }
            Ok(new)
        });
        let new = new.await?;
        if new.is_empty() {
            return Ok(Vec::new());
        }
        let (author, most) = (author.to_owned(), self.max_versions);
        let kept = self.database.change(move |file| {
            let mut kept = Vec::new();
            for key in new {
                let at = DefinitionRef { kind, key: &key };
                let version = observe(file, at, &author, most)?;
                kept.extend(version.map(|version| (key, version)));
            }
            Ok(kept)
        });
        kept.await
    }
}

impl HistoryStore for SqliteStore {
    fn commit<'a>(&'a self, commit: &'a Commit) -> BoxFuture<'a, Result<CommitResult, StoreError>> {
        async move {
            let bytes = commit.content.as_ref().map_or(0, DefinitionContent::bytes);
            self.fits(&commit.key, bytes)?;
            let (wanted, most) = (commit.clone(), self.max_versions);
            let done = self
                .database
                .attempt(move |file| keep(file, &wanted, most))
                .await?;
            self.tell(commit.kind, &commit.key);
            Ok(done)
        }
        .boxed()
    }

    fn observe<'a>(
        &'a self,
        kind: EntryKind,
        keys: &'a [EntryKey],
        author: &'a str,
    ) -> BoxFuture<'a, Result<Vec<(EntryKey, Version)>, StoreError>> {
        self.see(kind, keys, author).boxed()
    }

    fn versions<'a>(
        &'a self,
        kind: EntryKind,
        key: &'a EntryKey,
        before: Option<u64>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Version>, StoreError>> {
        let key = key.clone();
        let page = move |file: &mut Connection| {
            versions::below(file, DefinitionRef { kind, key: &key }, before, limit)
        };
        self.database.run(page).boxed()
    }

    fn load_versions<'a>(
        &'a self,
        kind: EntryKind,
        wanted: &'a [(EntryKey, u64)],
    ) -> BoxFuture<'a, Result<Vec<Option<VersionRecord>>, StoreError>> {
        let wanted = wanted.to_vec();
        let kept = move |file: &mut Connection| {
            let one = |(key, number): &(EntryKey, u64)| {
                versions::load_record(file, DefinitionRef { kind, key }, *number)
            };
            wanted.iter().map(one).collect()
        };
        self.database.run(kept).boxed()
    }

    fn find<'a>(
        &'a self,
        kind: EntryKind,
        key: &'a EntryKey,
        digits: &'a str,
    ) -> BoxFuture<'a, Result<Option<Version>, StoreError>> {
        let (key, digits) = (key.clone(), digits.to_owned());
        let found = move |file: &mut Connection| {
            versions::find(file, DefinitionRef { kind, key: &key }, &digits)
        };
        self.database.run(found).boxed()
    }

    fn relabel<'a>(
        &'a self,
        kind: EntryKind,
        key: &'a EntryKey,
        moves: &'a [LabelMove],
    ) -> BoxFuture<'a, Result<Labels, StoreError>> {
        async move {
            let (place, moves) = (key.clone(), moves.to_vec());
            let work =
                move |file: &Connection| relabel(file, DefinitionRef { kind, key: &place }, &moves);
            let labels = self.database.attempt(work).await?;
            let place = label_key(kind, key);
            self.hub.send(StoreChange::Entry(EntryKind::Label, place));
            Ok(labels)
        }
        .boxed()
    }

    fn import<'a>(&'a self, import: &'a HistoryImport) -> BoxFuture<'a, Result<usize, StoreError>> {
        async move {
            let contents = import.versions.iter().filter_map(|it| it.content.as_ref());
            for content in contents {
                self.fits(&import.key, content.bytes())?;
            }
            let wanted = import.clone();
            let work = move |file: &Connection| bring(file, &wanted);
            let added = self.database.attempt(work).await?;
            self.tell(import.kind, &import.key);
            Ok(added)
        }
        .boxed()
    }

    fn collect<'a>(
        &'a self,
        kind: EntryKind,
        key: &'a EntryKey,
        keep: usize,
    ) -> BoxFuture<'a, Result<Vec<u64>, StoreError>> {
        let key = key.clone();
        let work = move |file: &Connection| {
            let at = DefinitionRef { kind, key: &key };
            let labels = stored(&key, label_text(file, at)?.as_deref())?;
            Ok(versions::collect(file, at, keep, &labels)?)
        };
        self.database.attempt(work).boxed()
    }

    fn keys(&self, kind: EntryKind) -> BoxFuture<'_, Result<Vec<EntryKey>, StoreError>> {
        let keys = move |file: &mut Connection| versions::keys(file, kind);
        self.database.run(keys).boxed()
    }

    fn note<'a>(&'a self, entry: &'a LogEntry) -> BoxFuture<'a, Result<(), StoreError>> {
        let entry = entry.clone();
        let note = move |file: &Connection| versions::note(file, &entry);
        self.database.change(note).boxed()
    }

    fn log<'a>(
        &'a self,
        filter: &'a LogFilter,
        before: Option<u64>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<LogEntry>, StoreError>> {
        let filter = filter.clone();
        let lines = move |file: &mut Connection| versions::log(file, &filter, before, limit);
        self.database.run(lines).boxed()
    }
}
