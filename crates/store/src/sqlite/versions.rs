//! Tables of versions, their contents and the audit log.

use std::sync::Arc;

use quillet_core::history::{
    Action, DefinitionContent, Digest, Labels, LogEntry, LogFilter, Version, VersionRecord,
};
use quillet_core::store::{EntryKey, EntryKind};
use rusqlite::types::Type;
use rusqlite::{Connection, Error, OptionalExtension, Row, params};

use super::SchemaModule;
use crate::history::VersionChain;

/// Each content is stored once per definition, however many versions have it. Triggers reject
/// changes to versions and log entries, and the deletion of log entries.
pub(super) static PART: SchemaModule = SchemaModule {
    name: "history",
    steps: &["
        CREATE TABLE definition_versions (
            kind TEXT NOT NULL, key TEXT NOT NULL, number INTEGER NOT NULL,
            digest TEXT NOT NULL, parent INTEGER, author TEXT NOT NULL, message TEXT NOT NULL,
            created_ms INTEGER NOT NULL, bytes INTEGER NOT NULL, removed INTEGER NOT NULL,
            PRIMARY KEY (kind, key, number)) STRICT, WITHOUT ROWID;
        CREATE INDEX definition_versions_digest ON definition_versions (kind, key, digest);
        CREATE TRIGGER definition_versions_stay BEFORE UPDATE ON definition_versions BEGIN
            SELECT raise(ABORT, 'a version never changes'); END;
        CREATE TABLE definition_texts (
            kind TEXT NOT NULL, key TEXT NOT NULL, digest TEXT NOT NULL,
            text TEXT NOT NULL, file TEXT NOT NULL,
            companion_name TEXT, companion_text TEXT,
            PRIMARY KEY (kind, key, digest)) STRICT;
        CREATE TABLE definition_log (
            number INTEGER PRIMARY KEY AUTOINCREMENT, at_ms INTEGER NOT NULL,
            who TEXT NOT NULL, origin TEXT NOT NULL, action TEXT NOT NULL,
            kind TEXT NOT NULL, id TEXT NOT NULL,
            version INTEGER, label TEXT, message TEXT NOT NULL) STRICT;
        CREATE TRIGGER definition_log_stays BEFORE UPDATE ON definition_log BEGIN
            SELECT raise(ABORT, 'the log is only appended to'); END;
        CREATE TRIGGER definition_log_is_kept BEFORE DELETE ON definition_log BEGIN
            SELECT raise(ABORT, 'the log is only appended to'); END;"],
};

const COLUMNS: &str = "number, digest, parent, author, message, created_ms, bytes, removed";

/// Reference to a definition in the file.
#[derive(Clone, Copy)]
pub(super) struct DefinitionRef<'a> {
    pub(super) kind: EntryKind,
    pub(super) key: &'a EntryKey,
}

/// SQLite integers are signed; our numbers never exceed their range.
fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn unsigned(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    let number: i64 = row.get(column)?;
    u64::try_from(number).map_err(|_| Error::IntegralValueOutOfRange(column, number))
}

fn version(row: &Row<'_>) -> rusqlite::Result<Version> {
    let digest: String = row.get(1)?;
    let wrong = || unreadable(1, &format!("invalid digest {digest:?}"));
    let parent: Option<i64> = row.get(2)?;
    Ok(Version {
        number: unsigned(row, 0)?,
        digest: Digest::parse(&digest).ok_or_else(wrong)?,
        parent: parent.and_then(|parent| u64::try_from(parent).ok()),
        author: row.get(3)?,
        message: row.get(4)?,
        created_ms: unsigned(row, 5)?,
        bytes: unsigned(row, 6)?,
        removed: row.get(7)?,
    })
}

fn unreadable(column: usize, why: &str) -> Error {
    Error::FromSqlConversionFailure(column, Type::Text, why.into())
}

/// Returns the versions below a number, newest first.
pub(super) fn below(
    file: &Connection,
    at: DefinitionRef<'_>,
    before: Option<u64>,
    limit: usize,
) -> rusqlite::Result<Vec<Version>> {
    let select = format!(
        "SELECT {COLUMNS} FROM definition_versions
         WHERE kind = ?1 AND key = ?2 AND number < ?3 ORDER BY number DESC LIMIT ?4"
    );
    let before = before.map_or(i64::MAX, signed);
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut select = file.prepare(&select)?;
    let found = params![at.kind.word(), at.key.as_str(), before, limit];
    select.query_map(found, version)?.collect()
}

/// Returns the newest version whose digest begins with these digits.
pub(super) fn find(
    file: &Connection,
    at: DefinitionRef<'_>,
    digits: &str,
) -> rusqlite::Result<Option<Version>> {
    // `g` sorts after every hexadecimal digit.
    let select = format!(
        "SELECT {COLUMNS} FROM definition_versions
         WHERE kind = ?1 AND key = ?2 AND digest >= ?3 AND digest < ?3 || 'g' AND NOT removed
         ORDER BY number DESC LIMIT 1"
    );
    let mut select = file.prepare(&select)?;
    let found = select.query_row([at.kind.word(), at.key.as_str(), digits], version);
    found.optional()
}

fn content(
    file: &Connection,
    at: DefinitionRef<'_>,
    digest: Digest,
) -> rusqlite::Result<Option<DefinitionContent>> {
    let mut select = file.prepare(
        "SELECT text, file, companion_name, companion_text FROM definition_texts
         WHERE kind = ?1 AND key = ?2 AND digest = ?3",
    )?;
    let content = |row: &Row<'_>| {
        let (name, text): (Option<Arc<str>>, Option<Arc<str>>) = (row.get(2)?, row.get(3)?);
        Ok(DefinitionContent {
            text: row.get(0)?,
            file: row.get(1)?,
            companion: name.zip(text),
        })
    };
    let key = params![at.kind.word(), at.key.as_str(), digest.to_string()];
    select.query_row(key, content).optional()
}

/// Adds the content to a version.
fn filled(
    file: &Connection,
    at: DefinitionRef<'_>,
    version: Version,
) -> rusqlite::Result<VersionRecord> {
    let content = if version.removed {
        None
    } else {
        content(file, at, version.digest)?
    };
    Ok(VersionRecord { version, content })
}

/// Returns the version with this number and its content.
pub(super) fn load_record(
    file: &Connection,
    at: DefinitionRef<'_>,
    number: u64,
) -> rusqlite::Result<Option<VersionRecord>> {
    let newest = below(file, at, number.checked_add(1), 1)?;
    let found = newest.into_iter().find(|version| version.number == number);
    found.map(|found| filled(file, at, found)).transpose()
}

/// Returns only the newest version, which is sufficient for a commit.
pub(super) fn newest(file: &Connection, at: DefinitionRef<'_>) -> rusqlite::Result<VersionChain> {
    let head = below(file, at, None, 1)?.into_iter();
    let head: rusqlite::Result<Vec<VersionRecord>> = head.map(|it| filled(file, at, it)).collect();
    Ok(VersionChain::of(head?))
}

/// Returns all versions; only the newest has its content.
pub(super) fn all(file: &Connection, at: DefinitionRef<'_>) -> rusqlite::Result<VersionChain> {
    let mut chain = newest(file, at)?;
    for version in below(file, at, None, usize::MAX)? {
        let content = None;
        chain.add(VersionRecord { version, content });
    }
    Ok(chain)
}

/// Whether a label may point at a version.
pub(super) fn points_at(
    file: &Connection,
    at: DefinitionRef<'_>,
    number: u64,
) -> rusqlite::Result<bool> {
    let is_there = "SELECT 1 FROM definition_versions
                    WHERE kind = ?1 AND key = ?2 AND number = ?3 AND NOT removed";
    let mut is_there = file.prepare(is_there)?;
    is_there.exists(params![at.kind.word(), at.key.as_str(), signed(number)])
}

/// Adds a version.
pub(super) fn add(
    file: &Connection,
    at: DefinitionRef<'_>,
    kept: &VersionRecord,
) -> rusqlite::Result<()> {
    let VersionRecord { version, content } = kept;
    let (kind, key, digest) = (at.kind.word(), at.key.as_str(), version.digest.to_string());
    let insert = "INSERT INTO definition_versions VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";
    file.prepare(insert)?.execute(params![
        kind,
        key,
        signed(version.number),
        digest,
        version.parent.map(signed),
        version.author,
        version.message,
        signed(version.created_ms),
        signed(version.bytes),
        version.removed,
    ])?;
    let Some(content) = content else {
        return Ok(());
    };
    let beside = content.companion.as_ref();
    let insert = "INSERT OR IGNORE INTO definition_texts VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    file.prepare(insert)?.execute(params![
        kind,
        key,
        digest,
        content.text,
        content.file,
        beside.map(|(name, _)| name),
        beside.map(|(_, text)| text),
    ])?;
    Ok(())
}

/// Deletes all versions except the newest `keep`, those with labels, and the newest. Returns their
/// numbers.
pub(super) fn collect(
    file: &Connection,
    at: DefinitionRef<'_>,
    keep: usize,
    labels: &Labels,
) -> rusqlite::Result<Vec<u64>> {
    let (kind, key) = (at.kind.word(), at.key.as_str());
    let keep = i64::try_from(keep.max(1)).unwrap_or(i64::MAX);
    let mut old = file.prepare(
        "SELECT number, digest FROM definition_versions WHERE kind = ?1 AND key = ?2
         ORDER BY number DESC LIMIT -1 OFFSET ?3",
    )?;
    let row = |row: &Row<'_>| Ok((unsigned(row, 0)?, row.get::<_, String>(1)?));
    let old: rusqlite::Result<Vec<(u64, String)>> =
        old.query_map(params![kind, key, keep], row)?.collect();
    let old = old?.into_iter();
    let old: Vec<(u64, String)> = old
        .filter(|(number, _)| !labels.points_at(*number))
        .collect();
    let mut version = file
        .prepare("DELETE FROM definition_versions WHERE kind = ?1 AND key = ?2 AND number = ?3")?;
    let mut text = file.prepare(
        "DELETE FROM definition_texts WHERE kind = ?1 AND key = ?2 AND digest = ?3
         AND NOT EXISTS (SELECT 1 FROM definition_versions
                         WHERE kind = ?1 AND key = ?2 AND digest = ?3)",
    )?;
    for (number, digest) in &old {
        version.execute(params![kind, key, signed(*number)])?;
        text.execute([kind, key, digest])?;
    }
    Ok(old.into_iter().map(|(number, _)| number).collect())
}

/// Returns the keys of a kind that have versions, sorted.
pub(super) fn keys(file: &Connection, kind: EntryKind) -> rusqlite::Result<Vec<EntryKey>> {
    let keys = "SELECT DISTINCT key FROM definition_versions WHERE kind = ?1 ORDER BY key";
    let mut keys = file.prepare(keys)?;
    let key = |row: &Row<'_>| Ok(EntryKey::new(row.get::<_, Arc<str>>(0)?));
    keys.query_map([kind.word()], key)?.collect()
}

/// Appends an entry to the log.
pub(super) fn note(file: &Connection, line: &LogEntry) -> rusqlite::Result<()> {
    let insert = "INSERT INTO definition_log
                  (at_ms, who, origin, action, kind, id, version, label, message)
                  VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
    file.prepare(insert)?.execute(params![
        signed(line.at_ms),
        line.who,
        line.from,
        line.action.name(),
        line.kind,
        line.id,
        line.version.map(signed),
        line.label,
        line.message,
    ])?;
    Ok(())
}

/// Returns the log entries below a number, newest first.
pub(super) fn log(
    file: &Connection,
    filter: &LogFilter,
    before: Option<u64>,
    limit: usize,
) -> rusqlite::Result<Vec<LogEntry>> {
    let mut lines = file.prepare(
        "SELECT number, at_ms, who, origin, action, kind, id, version, label, message
         FROM definition_log WHERE number < ?1
         AND (?2 IS NULL OR kind = ?2) AND (?3 IS NULL OR id = ?3) AND (?4 IS NULL OR who = ?4)
         ORDER BY number DESC LIMIT ?5",
    )?;
    let before = before.map_or(i64::MAX, signed);
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let wanted = params![before, filter.kind, filter.id, filter.who, limit];
    lines.query_map(wanted, line)?.collect()
}

fn line(row: &Row<'_>) -> rusqlite::Result<LogEntry> {
    let action: String = row.get(4)?;
    let known = Action::ALL.into_iter().find(|known| known.name() == action);
    let version: Option<i64> = row.get(7)?;
    Ok(LogEntry {
        number: unsigned(row, 0)?,
        at_ms: unsigned(row, 1)?,
        who: row.get(2)?,
        from: row.get(3)?,
        action: known.ok_or_else(|| unreadable(4, &format!("unknown action {action:?}")))?,
        kind: row.get(5)?,
        id: row.get(6)?,
        version: version.and_then(|version| u64::try_from(version).ok()),
        label: row.get(8)?,
        message: row.get(9)?,
    })
}
