//! Definitions and shared variables in an SQLite file.
//!
//! Triggers record every change by any program. A watcher polls the data version of the file, which
//! is very cheap, and reads the recorded changes.

use std::path::Path;
use std::sync::Arc;

use futures_util::FutureExt;
use quillet_core::BoxFuture;
use quillet_core::history::HistoryStore;
use quillet_core::store::{
    Changes, EntryKey, EntryKind, Health, Store, StoreChange, StoreEntry, StoreError,
    StoreErrorKind,
};
use rusqlite::{Connection, OptionalExtension, Row, params};
use tokio::sync::{Mutex, watch};
use tokio::time::sleep;
use tokio_util::task::AbortOnDropHandle;

use super::{Database, SchemaModule, versions};
use crate::StoreOptions;
use crate::changes::ChangeBus;

/// Recorded changes are deleted when there are a thousand newer ones.
static PART: SchemaModule = SchemaModule {
    name: "definitions",
    steps: &["
        CREATE TABLE definitions (
            kind TEXT NOT NULL, key TEXT NOT NULL, text TEXT NOT NULL,
            PRIMARY KEY (kind, key)) STRICT;
        CREATE TABLE definition_changes (
            number INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, key TEXT NOT NULL) STRICT;
        CREATE TRIGGER definition_added AFTER INSERT ON definitions BEGIN
            INSERT INTO definition_changes (kind, key) VALUES (new.kind, new.key); END;
        CREATE TRIGGER definition_changed AFTER UPDATE ON definitions BEGIN
            INSERT INTO definition_changes (kind, key) VALUES (old.kind, old.key), (new.kind, new.key);
            END;
        CREATE TRIGGER definition_removed AFTER DELETE ON definitions BEGIN
            INSERT INTO definition_changes (kind, key) VALUES (old.kind, old.key); END;
        CREATE TRIGGER definition_changes_bound AFTER INSERT ON definition_changes BEGIN
            DELETE FROM definition_changes WHERE number <= new.number - 1000; END;"],
};

/// Store of definitions in an SQLite file.
#[derive(Debug)]
pub struct SqliteStore {
    pub(super) database: Arc<Database>,
    pub(super) max_value_bytes: usize,
    pub(super) max_versions: usize,
    pub(super) hub: ChangeBus,
    away: watch::Receiver<Option<String>>,
    watcher: Arc<DatabaseWatcher>,
    _watching: AbortOnDropHandle<()>,
}

impl SqliteStore {
    /// Opens or creates the file. Call this inside a Tokio runtime.
    ///
    /// # Errors
    /// `Configuration` for an invalid path or a file of a newer version; `Corrupt` for a file that
    /// is not an SQLite database.
    pub async fn open(path: &Path, options: &StoreOptions) -> Result<Self, StoreError> {
        let database = Arc::new(Database::open(path, &PART).await?);
        database.add_schema(&versions::PART).await?;
        let last = database.run(|file| ChangeCursor::now(file)).await?;
        let hub = ChangeBus::new();
        let (sender, away) = watch::channel(None);
        let watcher = Arc::new(DatabaseWatcher {
            database: database.clone(),
            hub: hub.clone(),
            away: sender,
            seen: Mutex::new(last),
        });
        let watching = watcher.clone().watch(options.poll_interval);
        Ok(SqliteStore {
            watcher,
            database,
            max_value_bytes: options.max_value_bytes,
            max_versions: options.max_versions,
            hub,
            away,
            _watching: AbortOnDropHandle::new(tokio::spawn(watching)),
        })
    }

    /// Checks the size of a text.
    pub(super) fn fits(&self, key: &EntryKey, bytes: usize) -> Result<(), StoreError> {
        let limit = self.max_value_bytes;
        if bytes <= limit {
            return Ok(());
        }
        let message = format!("{key}: longer than the limit of {limit} bytes (max_value_bytes)");
        Err(StoreError::new(StoreErrorKind::Refused, message))
    }

    async fn write(&self, kind: EntryKind, key: &EntryKey, text: &str) -> Result<(), StoreError> {
        self.fits(key, text.len())?;
        let (place, text) = (key.clone(), text.to_owned());
        self.database
            .change(move |file| put(file, kind, &place, &text))
            .await?;
        self.hub.send(StoreChange::Entry(kind, key.clone()));
        Ok(())
    }

    async fn delete(&self, kind: EntryKind, key: &EntryKey) -> Result<bool, StoreError> {
        let place = key.clone();
        let removed = self.database.change(move |file| remove(file, kind, &place));
        let removed = removed.await?;
        if removed {
            self.hub.send(StoreChange::Entry(kind, key.clone()));
        }
        Ok(removed)
    }
}

/// Inserts or replaces a row.
pub(super) fn put(
    file: &Connection,
    kind: EntryKind,
    key: &EntryKey,
    text: &str,
) -> rusqlite::Result<()> {
    let put = "INSERT INTO definitions VALUES (?1, ?2, ?3)
               ON CONFLICT (kind, key) DO UPDATE SET text = excluded.text";
    file.prepare(put)?
        .execute(params![kind.word(), key.as_str(), text])
        .map(drop)
}

/// Deletes a row; `false` if it does not exist.
pub(super) fn remove(file: &Connection, kind: EntryKind, key: &EntryKey) -> rusqlite::Result<bool> {
    let delete = "DELETE FROM definitions WHERE kind = ?1 AND key = ?2";
    let removed = file
        .prepare(delete)?
        .execute(params![kind.word(), key.as_str()])?;
    Ok(removed > 0)
}

/// Returns the text of a row.
pub(super) fn text(
    file: &Connection,
    kind: EntryKind,
    key: &EntryKey,
) -> rusqlite::Result<Option<Arc<str>>> {
    let text = "SELECT text FROM definitions WHERE kind = ?1 AND key = ?2";
    let mut text = file.prepare(text)?;
    text.query_row([kind.word(), key.as_str()], |row| row.get(0))
        .optional()
}

fn entries(file: &Connection, kind: EntryKind, origin: &str) -> rusqlite::Result<Vec<StoreEntry>> {
    let mut all = file.prepare("SELECT key, text FROM definitions WHERE kind = ?1 ORDER BY key")?;
    let entry = |row: &Row<'_>| {
        let (key, text): (Arc<str>, Arc<str>) = (row.get(0)?, row.get(1)?);
        Ok(entry(EntryKey::new(key), text, kind, origin))
    };
    all.query_map([kind.word()], entry)?.collect()
}

fn keys(file: &Connection, kind: EntryKind) -> rusqlite::Result<Vec<EntryKey>> {
    let mut all = file.prepare("SELECT key FROM definitions WHERE kind = ?1 ORDER BY key")?;
    let key = |row: &Row<'_>| Ok(EntryKey::new(row.get::<_, Arc<str>>(0)?));
    all.query_map([kind.word()], key)?.collect()
}

fn texts(
    file: &Connection,
    kind: EntryKind,
    keys: &[EntryKey],
) -> rusqlite::Result<Vec<Option<Arc<str>>>> {
    keys.iter().map(|key| text(file, kind, key)).collect()
}

fn entries_of(
    file: &Connection,
    kind: EntryKind,
    keys: &[EntryKey],
    origin: &str,
) -> rusqlite::Result<Vec<Option<StoreEntry>>> {
    let texts: Vec<Option<Arc<str>>> = texts(file, kind, keys)?;
    let entry =
        |(key, text): (&EntryKey, Option<Arc<str>>)| Some(entry(key.clone(), text?, kind, origin));
    Ok(keys.iter().zip(texts).map(entry).collect())
}

fn entry(key: EntryKey, text: Arc<str>, kind: EntryKind, origin: &str) -> StoreEntry {
    let origin = format!("{origin}: {} {key}", kind.word());
    StoreEntry::new(key, text, origin)
}

/// Position in the recorded changes.
#[derive(Clone, Copy, Debug)]
struct ChangeCursor {
    /// Data version of the file, which changes with every commit of another connection.
    version: i64,
    /// Number of the last recorded change.
    number: i64,
}

impl ChangeCursor {
    fn now(file: &Connection) -> rusqlite::Result<Self> {
        let last = "SELECT coalesce(max(number), 0) FROM definition_changes";
        Ok(ChangeCursor {
            version: version(file)?,
            number: file.query_row(last, [], |row| row.get(0))?,
        })
    }

    /// Returns the changes since this position, and the new position.
    fn next(self, file: &Connection) -> rusqlite::Result<(Self, Vec<StoreChange>)> {
        let version = version(file)?;
        if version == self.version {
            return Ok((self, Vec::new()));
        }
        let first = "SELECT coalesce(min(number), 0) FROM definition_changes";
        let first: i64 = file.query_row(first, [], |row| row.get(0))?;
        let mut new = file.prepare(
            "SELECT number, kind, key FROM definition_changes WHERE number > ?1 ORDER BY number",
        )?;
        let mut rows = new.query([self.number])?;
        let (mut number, mut changes) = (self.number, Vec::new());
        while let Some(row) = rows.next()? {
            number = row.get(0)?;
            let kind: String = row.get(1)?;
            let kind = EntryKind::ALL.into_iter().find(|of| of.word() == kind);
            changes.push(match kind {
                Some(kind) => StoreChange::Entry(kind, EntryKey::new(row.get::<_, Arc<str>>(2)?)),
                None => StoreChange::All,
            });
        }
        if first > self.number + 1 {
            changes = vec![StoreChange::All];
        }
        changes.dedup();
        Ok((ChangeCursor { version, number }, changes))
    }
}

fn version(file: &Connection) -> rusqlite::Result<i64> {
    file.query_row("PRAGMA data_version", [], |row| row.get(0))
}

/// Reports changes by other connections.
#[derive(Debug)]
struct DatabaseWatcher {
    database: Arc<Database>,
    hub: ChangeBus,
    away: watch::Sender<Option<String>>,
    /// Held while polling.
    seen: Mutex<ChangeCursor>,
}

impl DatabaseWatcher {
    async fn watch(self: Arc<Self>, pause: std::time::Duration) {
        loop {
            sleep(pause).await;
            if let Err(error) = self.look().await {
                self.away.send_replace(Some(error.message));
            }
        }
    }

    async fn look(&self) -> Result<(), StoreError> {
        let mut seen = self.seen.lock().await;
        let last = *seen;
        let (now, changes) = self.database.run(move |file| last.next(file)).await?;
        *seen = now;
        self.away.send_replace(None);
        changes.into_iter().for_each(|change| self.hub.send(change));
        Ok(())
    }
}

impl Store for SqliteStore {
    fn describe(&self) -> String {
        format!("sqlite {}", self.database.path())
    }

    fn load(&self, kind: EntryKind) -> BoxFuture<'_, Result<Vec<StoreEntry>, StoreError>> {
        let origin = self.database.path().clone();
        self.database
            .run(move |file| entries(file, kind, &origin))
            .boxed()
    }

    fn keys(&self, kind: EntryKind) -> BoxFuture<'_, Result<Vec<EntryKey>, StoreError>> {
        self.database.run(move |file| keys(file, kind)).boxed()
    }

    fn get<'a>(
        &'a self,
        kind: EntryKind,
        keys: &'a [EntryKey],
    ) -> BoxFuture<'a, Result<Vec<Option<Arc<str>>>, StoreError>> {
        let keys = keys.to_vec();
        self.database
            .run(move |file| texts(file, kind, &keys))
            .boxed()
    }

    fn entries<'a>(
        &'a self,
        kind: EntryKind,
        keys: &'a [EntryKey],
    ) -> BoxFuture<'a, Result<Vec<Option<StoreEntry>>, StoreError>> {
        let (keys, origin) = (keys.to_vec(), self.database.path().clone());
        self.database
            .run(move |file| entries_of(file, kind, &keys, &origin))
            .boxed()
    }

    /// Polls the file immediately.
    fn sync(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        self.watcher.look().boxed()
    }

    fn put<'a>(
        &'a self,
        kind: EntryKind,
        key: &'a EntryKey,
        text: &'a str,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        self.write(kind, key, text).boxed()
    }

    fn remove<'a>(
        &'a self,
        kind: EntryKind,
        key: &'a EntryKey,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        self.delete(kind, key).boxed()
    }

    fn changes(&self) -> Changes {
        self.hub.stream()
    }

    fn health(&self) -> Health {
        match &*self.away.borrow() {
            Some(reason) => Health::Away {
                reason: reason.clone(),
            },
            None => Health::Ready,
        }
    }

    fn history(&self) -> Option<&dyn HistoryStore> {
        Some(self)
    }
}
