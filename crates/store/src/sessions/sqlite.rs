//! Sessions in an SQLite file.

use std::path::Path;
use std::sync::Arc;

use futures_util::FutureExt;
use quillet_core::session::{SessionInfo, Sessions, StoredMessage};
use quillet_core::store::StoreError;
use quillet_core::{BoxFuture, clock};
use rusqlite::types::Type;
use rusqlite::{Connection, Error, OptionalExtension, Row, params};

use super::SessionOptions;
use crate::ids;
use crate::sqlite::{Database, SchemaModule};

/// Messages are stored in the order of their session, so a long session is read sequentially.
static PART: SchemaModule = SchemaModule {
    name: "sessions",
    steps: &["
        CREATE TABLE sessions (
            number INTEGER PRIMARY KEY,
            id TEXT NOT NULL UNIQUE,
            updated_ms INTEGER NOT NULL,
            used INTEGER NOT NULL UNIQUE,
            messages INTEGER NOT NULL DEFAULT 0,
            bytes INTEGER NOT NULL DEFAULT 0) STRICT;
        CREATE INDEX sessions_updated ON sessions (updated_ms);
        CREATE TABLE messages (
            session INTEGER NOT NULL REFERENCES sessions ON DELETE CASCADE,
            place INTEGER NOT NULL,
            bytes INTEGER NOT NULL,
            message TEXT NOT NULL,
            PRIMARY KEY (session, place)) STRICT, WITHOUT ROWID;"],
};

/// Sessions in an SQLite file.
#[derive(Debug)]
pub struct SqliteSessions {
    options: Arc<SessionOptions>,
    database: Database,
}

impl SqliteSessions {
    /// Opens or creates the file. `:memory:` creates a database that is deleted on drop.
    ///
    /// # Errors
    /// `Configuration` for an invalid path or a file of a newer version; `Corrupt` for a file that
    /// is not an SQLite database.
    pub async fn open(path: &Path, options: SessionOptions) -> Result<Self, StoreError> {
        Ok(SqliteSessions {
            options: Arc::new(options),
            database: Database::open(path, &PART).await?,
        })
    }

    async fn add(&self, session: &str, turns: &[StoredMessage]) -> Result<(), StoreError> {
        let id = ids::checked("session", session)?.to_owned();
        let texts = self.options.texts(turns)?;
        if texts.is_empty() {
            return Ok(());
        }
        let options = self.options.clone();
        let work = move |file: &Connection| append(file, &options, &id, &texts);
        self.database.change(work).await
    }

    fn alive_since(&self) -> u64 {
        self.options.expired_before(clock::millis())
    }
}

fn append(
    file: &Connection,
    options: &SessionOptions,
    id: &str,
    texts: &[String],
) -> rusqlite::Result<()> {
    let now = clock::millis();
    let expired = "DELETE FROM sessions WHERE updated_ms < ?1";
    file.execute(expired, [options.expired_before(now)])?;
    let number: i64 = file.query_row(
        "INSERT INTO sessions (id, updated_ms, used)
         VALUES (?1, ?2, (SELECT coalesce(max(used), 0) + 1 FROM sessions))
         ON CONFLICT (id) DO UPDATE SET updated_ms = excluded.updated_ms, used = excluded.used
         RETURNING number",
        params![id, now],
        |row| row.get(0),
    )?;
    let mut insert = file.prepare(
        "INSERT INTO messages (session, place, bytes, message) VALUES (?1,
         (SELECT coalesce(max(place), 0) + 1 FROM messages WHERE session = ?1), ?2, ?3)",
    )?;
    for text in texts {
        insert.execute(params![number, text.len(), text])?;
    }
    count(file, options, number, texts)?;
    let many = "DELETE FROM sessions WHERE number IN
                (SELECT number FROM sessions ORDER BY used DESC LIMIT -1 OFFSET ?1)";
    file.execute(many, [options.max_sessions])?;
    Ok(())
}

/// Updates the size of a session and removes its oldest messages until the limits are met.
fn count(
    file: &Connection,
    options: &SessionOptions,
    session: i64,
    texts: &[String],
) -> rusqlite::Result<()> {
    let bytes: usize = texts.iter().map(String::len).sum();
    let (mut messages, mut bytes): (usize, usize) = file.query_row(
        "UPDATE sessions SET messages = messages + ?2, bytes = bytes + ?3
         WHERE number = ?1 RETURNING messages, bytes",
        params![session, texts.len(), bytes],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )?;
    let fits =
        |messages, bytes| messages <= options.max_messages && bytes <= options.max_session_bytes;
    if fits(messages, bytes) {
        return Ok(());
    }
    let sizes = "SELECT place, bytes FROM messages WHERE session = ?1 ORDER BY place";
    let mut sizes = file.prepare(sizes)?;
    let mut rows = sizes.query([session])?;
    let mut place: i64 = 0;
    while !fits(messages, bytes)
        && let Some(row) = rows.next()?
    {
        place = row.get(0)?;
        messages = messages.saturating_sub(1);
        bytes = bytes.saturating_sub(row.get(1)?);
    }
    let old = "DELETE FROM messages WHERE session = ?1 AND place <= ?2";
    file.execute(old, [session, place])?;
    let counts = "UPDATE sessions SET messages = ?2, bytes = ?3 WHERE number = ?1";
    file.execute(counts, params![session, messages, bytes])?;
    Ok(())
}

fn last(
    file: &Connection,
    id: &str,
    since: u64,
    most: i64,
) -> rusqlite::Result<Vec<StoredMessage>> {
    let number = "SELECT number FROM sessions WHERE id = ?1 AND updated_ms >= ?2";
    let number = file.query_row(number, params![id, since], |row| row.get::<_, i64>(0));
    let Some(number) = number.optional()? else {
        return Ok(Vec::new());
    };
    let mut latest = file
        .prepare("SELECT message FROM messages WHERE session = ?1 ORDER BY place DESC LIMIT ?2")?;
    let turns = latest.query_map([number, most], turn)?;
    let mut turns = turns.collect::<rusqlite::Result<Vec<StoredMessage>>>()?;
    turns.reverse();
    Ok(turns)
}

fn turn(row: &Row<'_>) -> rusqlite::Result<StoredMessage> {
    let text = row.get_ref(0)?.as_str()?;
    let wrong = |error| Error::FromSqlConversionFailure(0, Type::Text, Box::new(error));
    serde_json::from_str(text).map_err(wrong)
}

fn latest(file: &Connection, since: u64, most: i64) -> rusqlite::Result<Vec<SessionInfo>> {
    let mut latest = file.prepare(
        "SELECT id, updated_ms, messages FROM sessions WHERE updated_ms >= ?1 ORDER BY used DESC LIMIT ?2",
    )?;
    let info = |row: &Row<'_>| {
        Ok(SessionInfo {
            id: row.get(0)?,
            updated_ms: row.get(1)?,
            messages: row.get(2)?,
        })
    };
    latest.query_map(params![since, most], info)?.collect()
}

/// SQLite integers are signed.
fn limit(most: usize) -> i64 {
    i64::try_from(most).unwrap_or(i64::MAX)
}

impl Sessions for SqliteSessions {
    fn describe(&self) -> String {
        format!("sqlite {}", self.database.path())
    }

    fn load<'a>(
        &'a self,
        session: &'a str,
        most: usize,
    ) -> BoxFuture<'a, Result<Vec<StoredMessage>, StoreError>> {
        async move {
            let id = ids::checked("session", session)?.to_owned();
            let since = self.alive_since();
            let work = move |file: &mut Connection| last(file, &id, since, limit(most));
            self.database.run(work).await
        }
        .boxed()
    }

    fn append<'a>(
        &'a self,
        session: &'a str,
        turns: &'a [StoredMessage],
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        self.add(session, turns).boxed()
    }

    fn remove<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<bool, StoreError>> {
        async move {
            let id = ids::checked("session", session)?.to_owned();
            let since = self.alive_since();
            let work = move |file: &Connection| {
                file.execute("DELETE FROM sessions WHERE updated_ms < ?1", [since])?;
                file.execute("DELETE FROM sessions WHERE id = ?1", [id])
            };
            Ok(self.database.change(work).await? > 0)
        }
        .boxed()
    }

    fn list(&self, most: usize) -> BoxFuture<'_, Result<Vec<SessionInfo>, StoreError>> {
        let since = self.alive_since();
        let work = move |file: &mut Connection| latest(file, since, limit(most));
        self.database.run(work).boxed()
    }
}
