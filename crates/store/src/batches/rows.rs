//! Tables of batches and their transactions.
//!
//! The key of a chunk combines the number of its file and its own number, so the chunks of a file
//! are stored in reading order.

use quillet_core::batch::{
    Batch, BatchChunk, BatchOrder, BatchTransition, FileChunk, FileChunkPage, FileInfo, Report,
    Status,
};
use rusqlite::types::Type;
use rusqlite::{Connection, Error, OptionalExtension, Row, params};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::sqlite::SchemaModule;

pub(super) static PART: SchemaModule = SchemaModule {
    name: "batches",
    steps: &["
        CREATE TABLE batch_files (
            number INTEGER PRIMARY KEY,
            id TEXT NOT NULL UNIQUE,
            owner TEXT,
            info TEXT,
            expires INTEGER NOT NULL) STRICT;
        CREATE INDEX batch_files_owner ON batch_files (owner, number);
        CREATE INDEX batch_files_expires ON batch_files (expires);
        CREATE TABLE batch_pieces (
            place INTEGER PRIMARY KEY,
            bytes BLOB NOT NULL) STRICT;
        CREATE TABLE batches (
            number INTEGER PRIMARY KEY,
            id TEXT NOT NULL UNIQUE,
            owner TEXT NOT NULL,
            ordered TEXT NOT NULL,
            status TEXT NOT NULL,
            times TEXT NOT NULL,
            wrong TEXT NOT NULL DEFAULT '[]',
            total INTEGER NOT NULL DEFAULT 0,
            units INTEGER NOT NULL DEFAULT 0,
            completed INTEGER NOT NULL DEFAULT 0,
            failed INTEGER NOT NULL DEFAULT 0,
            output_bytes INTEGER NOT NULL DEFAULT 0,
            error_bytes INTEGER NOT NULL DEFAULT 0,
            again INTEGER NOT NULL DEFAULT 0,
            output INTEGER NOT NULL,
            errors INTEGER NOT NULL,
            expires INTEGER NOT NULL) STRICT;
        CREATE INDEX batches_owner ON batches (owner, number);
        CREATE INDEX batches_active ON batches (number)
            WHERE status NOT IN ('failed', 'completed', 'expired', 'cancelled');
        CREATE TABLE batch_units (
            batch INTEGER NOT NULL REFERENCES batches ON DELETE CASCADE,
            number INTEGER NOT NULL,
            worker TEXT,
            until INTEGER NOT NULL DEFAULT 0,
            held INTEGER NOT NULL DEFAULT 0,
            PRIMARY KEY (batch, number)) STRICT, WITHOUT ROWID;"],
};

/// Exclusive upper bound of chunk numbers.
// File number and line share one 63-bit key: 2^40 lines and 2^23 files.
const PLACES: i64 = 1 << 40;

/// Maximum number of chunks in one read.
const PAGE: usize = 512;

/// Number of chunks deleted in one transaction, which limits how long other writers wait.
const PORTION: i64 = 5_000;

/// Returns the number of a file, which is created if it is missing.
fn file_number(file: &Connection, id: &str, expires: u64) -> rusqlite::Result<i64> {
    file.query_row(
        "INSERT INTO batch_files (id, expires) VALUES (?1, ?2)
         ON CONFLICT (id) DO UPDATE SET expires = max(expires, excluded.expires)
         RETURNING number",
        params![id, expires],
        |row| row.get(0),
    )
}

fn known_number(file: &Connection, id: &str) -> rusqlite::Result<Option<i64>> {
    let number = "SELECT number FROM batch_files WHERE id = ?1";
    file.query_row(number, [id], |row| row.get(0)).optional()
}

fn place(file: i64, number: u64) -> i64 {
    file * PLACES + i64::try_from(number).unwrap_or(PLACES).min(PLACES - 1)
}

pub(super) fn add_pieces(
    file: &Connection,
    id: &str,
    pieces: &[FileChunk],
    expires: u64,
) -> rusqlite::Result<()> {
    let number = file_number(file, id, expires)?;
    let mut insert = file.prepare("INSERT OR REPLACE INTO batch_pieces VALUES (?1, ?2)")?;
    for piece in pieces {
        insert.execute(params![place(number, piece.number), piece.bytes])?;
    }
    Ok(())
}

pub(super) fn keep_file(file: &Connection, info: &FileInfo) -> rusqlite::Result<()> {
    file.execute(
        "INSERT INTO batch_files (id, owner, info, expires) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT (id) DO UPDATE SET owner = excluded.owner, info = excluded.info,
             expires = excluded.expires",
        params![info.id, info.owner, written(info), info.expires],
    )?;
    Ok(())
}

pub(super) fn file_of(file: &Connection, id: &str) -> rusqlite::Result<Option<FileInfo>> {
    let info = "SELECT info FROM batch_files WHERE id = ?1 AND info IS NOT NULL";
    file.query_row(info, [id], |row| read(row, 0)).optional()
}

pub(super) fn files_of(file: &Connection, owner: &str) -> rusqlite::Result<Vec<FileInfo>> {
    let mut all = file.prepare(
        "SELECT info FROM batch_files WHERE owner = ?1 AND info IS NOT NULL ORDER BY number DESC",
    )?;
    all.query_map([owner], |row| read(row, 0))?.collect()
}

pub(super) fn pieces(
    file: &Connection,
    id: &str,
    from: u64,
    most: usize,
) -> rusqlite::Result<FileChunkPage> {
    let mut page = FileChunkPage::default();
    let Some(number) = known_number(file, id)? else {
        return Ok(page);
    };
    let mut some = file.prepare(
        "SELECT place, bytes FROM batch_pieces WHERE place >= ?1 AND place < ?2 ORDER BY place",
    )?;
    let mut rows = some.query([place(number, from), place(number + 1, 0)])?;
    let (mut bytes, most) = (0, most.max(1));
    while let Some(row) = rows.next()? {
        let number = u64::try_from(row.get::<_, i64>(0)? % PLACES).unwrap_or_default();
        if bytes >= most || page.pieces.len() >= PAGE {
            page.next = Some(number);
            break;
        }
        let piece: Vec<u8> = row.get(1)?;
        bytes += piece.len();
        page.pieces.push(FileChunk {
            number,
            bytes: piece,
        });
    }
    Ok(page)
}

/// Removes the entry of a file; the next sweep deletes its chunks.
pub(super) fn hide_file(file: &Connection, id: &str) -> rusqlite::Result<bool> {
    let hide = "UPDATE batch_files SET info = NULL, owner = NULL, expires = 0
                WHERE id = ?1 AND info IS NOT NULL";
    Ok(file.execute(hide, [id])? > 0)
}

/// Deletes some expired data and returns whether more is left.
pub(super) fn sweep(file: &Connection, now: u64) -> rusqlite::Result<bool> {
    // Only one file is removed per transaction, so transactions remain short.
    let old = "SELECT number FROM batch_files WHERE expires < ?1 LIMIT 1";
    let old = file.query_row(old, [now], |row| row.get::<_, i64>(0));
    if let Some(number) = old.optional()? {
        let hide = "UPDATE batch_files SET info = NULL, owner = NULL WHERE number = ?1";
        file.execute(hide, [number])?;
        let gone = file.execute(
            "DELETE FROM batch_pieces WHERE place IN (SELECT place FROM batch_pieces
             WHERE place >= ?1 AND place < ?2 LIMIT ?3)",
            [place(number, 0), place(number + 1, 0), PORTION],
        )?;
        // The row of the file is deleted last, because later sweeps need it to find the chunks.
        if gone == 0 {
            file.execute("DELETE FROM batch_files WHERE number = ?1", [number])?;
        }
        return Ok(true);
    }
    let old = "DELETE FROM batches WHERE number IN
               (SELECT number FROM batches WHERE expires < ?1 LIMIT 1)";
    Ok(file.execute(old, [now])? > 0)
}

pub(super) fn begin(file: &Connection, order: &BatchOrder) -> rusqlite::Result<()> {
    // The result files are created now, so their numbers are known and results need no lookup.
    let expires = order.expires + order.keep;
    let output = file_number(file, &order.output(), expires)?;
    let errors = file_number(file, &order.errors(), expires)?;
    let times = [(Status::Validating, order.created)];
    let number: i64 = file.query_row(
        "INSERT INTO batches (id, owner, ordered, status, times, output, errors, expires)
         VALUES (?1, ?2, ?3, 'validating', ?4, ?5, ?6, ?7) RETURNING number",
        params![
            order.id,
            order.owner,
            written(order),
            written(&times),
            output,
            errors,
            expires
        ],
        |row| row.get(0),
    )?;
    let unit = "INSERT INTO batch_units (batch, number) VALUES (?1, 0)";
    file.execute(unit, [number])?;
    Ok(())
}

pub(super) fn batch_of(file: &Connection, id: &str) -> rusqlite::Result<Option<Batch>> {
    let batch = |row: &Row<'_>| {
        Ok(Batch {
            order: read(row, 0)?,
            status: status(row, 1)?,
            times: read(row, 2)?,
            wrong: read(row, 3)?,
            total: row.get(4)?,
            units: row.get(5)?,
            completed: row.get(6)?,
            failed: row.get(7)?,
            output_bytes: row.get(8)?,
            error_bytes: row.get(9)?,
            again: row.get(10)?,
        })
    };
    let all = "SELECT ordered, status, times, wrong, total, units, completed, failed, output_bytes,
               error_bytes, again FROM batches WHERE id = ?1";
    file.query_row(all, [id], batch).optional()
}

pub(super) fn batches_of(file: &Connection, owner: &str) -> rusqlite::Result<Vec<String>> {
    let mut all = file.prepare("SELECT id FROM batches WHERE owner = ?1 ORDER BY number DESC")?;
    all.query_map([owner], |row| row.get(0))?.collect()
}

pub(super) fn active(file: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut all = file.prepare(
        "SELECT id FROM batches WHERE status NOT IN ('failed', 'completed', 'expired', 'cancelled')
         ORDER BY number",
    )?;
    all.query_map([], |row| row.get(0))?.collect()
}

pub(super) fn step(file: &Connection, id: &str, step: &BatchTransition) -> rusqlite::Result<bool> {
    let stands = "SELECT number, status, times FROM batches WHERE id = ?1";
    let stands = file.query_row(stands, [id], |row| {
        let times: Vec<(Status, u64)> = read(row, 2)?;
        Ok((row.get::<_, i64>(0)?, status(row, 1)?, times))
    });
    let Some((number, stands, mut times)) = stands.optional()? else {
        return Ok(false);
    };
    if !step.from.contains(&stands) {
        return Ok(false);
    }
    times.push((step.to, step.at));
    let set = "UPDATE batches SET status = ?2, times = ?3 WHERE number = ?1";
    file.execute(set, params![number, step.to.word(), written(&times)])?;
    if !step.wrong.is_empty() {
        let set = "UPDATE batches SET wrong = ?2 WHERE number = ?1";
        file.execute(set, params![number, written(&step.wrong)])?;
    }
    if let Some((total, units)) = step.counted {
        let set = "UPDATE batches SET total = ?2, units = ?3 WHERE number = ?1";
        file.execute(set, params![number, total, units])?;
        // Unit 0 represents the validation of the input, which is complete.
        let looked_at = "DELETE FROM batch_units WHERE batch = ?1 AND number = 0";
        file.execute(looked_at, [number])?;
    }
    if step.to.is_final() {
        file.execute("DELETE FROM batch_units WHERE batch = ?1", [number])?;
    }
    Ok(true)
}

pub(super) fn add_units(file: &Connection, id: &str, units: &[u64]) -> rusqlite::Result<()> {
    let mut insert = file.prepare(
        "INSERT OR IGNORE INTO batch_units (batch, number)
         SELECT number, ?2 FROM batches WHERE id = ?1 AND status = 'validating'",
    )?;
    for unit in units {
        insert.execute(params![id, unit])?;
    }
    Ok(())
}

pub(super) fn claim(
    file: &Connection,
    id: &str,
    worker: &str,
    now: u64,
    until: u64,
) -> rusqlite::Result<Option<BatchChunk>> {
    // The units of a batch are not available until its input has been validated.
    let first = "SELECT u.number, u.batch FROM batches b JOIN batch_units u ON u.batch = b.number
         WHERE b.id = ?1 AND u.until <= ?2 AND (b.status IN ('in_progress', 'expiring')
             OR (b.status = 'validating' AND u.number = 0))
         ORDER BY u.number LIMIT 1";
    let first = file.query_row(first, params![id, now], |row| {
        Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?))
    });
    let Some((number, batch)) = first.optional()? else {
        return Ok(None);
    };
    let take = "UPDATE batch_units SET worker = ?3, until = ?4, held = held + 1
                WHERE batch = ?1 AND number = ?2 RETURNING number, held";
    file.query_row(take, params![batch, number, worker, until], |row| {
        Ok(BatchChunk {
            number: row.get(0)?,
            again: row.get::<_, i64>(1)? > 1,
        })
    })
    .optional()
}

pub(super) fn renew(
    file: &Connection,
    id: &str,
    worker: &str,
    units: &[u64],
    until: u64,
) -> rusqlite::Result<()> {
    let mut renew = file.prepare(
        "UPDATE batch_units SET until = ?4 WHERE number = ?2 AND worker = ?3
         AND batch = (SELECT number FROM batches WHERE id = ?1)",
    )?;
    for unit in units {
        renew.execute(params![id, unit, worker, until])?;
    }
    Ok(())
}

pub(super) fn answered(
    file: &Connection,
    id: &str,
    first: u64,
    last: u64,
) -> rusqlite::Result<Vec<u64>> {
    let files = "SELECT output, errors FROM batches WHERE id = ?1";
    let files = file.query_row(files, [id], |row| {
        Ok([row.get::<_, i64>(0)?, row.get::<_, i64>(1)?])
    });
    let mut found = Vec::new();
    let mut some = file.prepare("SELECT place FROM batch_pieces WHERE place BETWEEN ?1 AND ?2")?;
    for number in files.optional()?.into_iter().flatten() {
        let row = |row: &Row<'_>| row.get::<_, i64>(0);
        let places = some.query_map([place(number, first), place(number, last)], row)?;
        for place in places {
            found.push(u64::try_from(place? % PLACES).unwrap_or_default());
        }
    }
    Ok(found)
}

pub(super) fn report(
    file: &Connection,
    id: &str,
    report: &Report,
    at: u64,
) -> rusqlite::Result<Option<Status>> {
    let stands = "SELECT number, status, output, errors, units FROM batches WHERE id = ?1";
    let stands = file.query_row(stands, [id], |row| {
        Ok((
            row.get::<_, i64>(0)?,
            status(row, 1)?,
            row.get::<_, i64>(2)?,
            row.get::<_, i64>(3)?,
            row.get::<_, i64>(4)?,
        ))
    });
    let Some((batch, stands, output, errors, units)) = stands.optional()? else {
        return Ok(None);
    };
    if !stands.accepts_results() {
        return Ok(Some(stands));
    }
    let mut insert = file.prepare(
        "INSERT OR IGNORE INTO batch_pieces SELECT ?1, ?2
         WHERE NOT EXISTS (SELECT 1 FROM batch_pieces WHERE place = ?3)",
    )?;
    let (mut rows, mut bytes) = ([0, 0], [0, 0]);
    for result in &report.results {
        let kind = usize::from(result.failed);
        let (own, other) = if result.failed {
            (errors, output)
        } else {
            (output, errors)
        };
        let (own, other) = (place(own, result.row), place(other, result.row));
        if insert.execute(params![own, result.line, other])? > 0 {
            rows[kind] += 1;
            bytes[kind] += result.line.len();
        }
    }
    let mut done = 0;
    if report.done {
        let unit = "DELETE FROM batch_units WHERE batch = ?1 AND number = ?2";
        done = file.execute(unit, params![batch, report.unit])?;
    }
    file.execute(
        "UPDATE batches SET completed = completed + ?2, failed = failed + ?3,
         output_bytes = output_bytes + ?4, error_bytes = error_bytes + ?5, again = again + ?6,
         units = units - ?7 WHERE number = ?1",
        params![
            batch,
            rows[0],
            rows[1],
            bytes[0],
            bytes[1],
            report.again,
            done
        ],
    )?;
    // `units` was read before the update, so 1 means that this was the last unit.
    if done > 0 && units <= 1 && stands == Status::InProgress {
        let last = BatchTransition::new(&[Status::InProgress], Status::Finalizing, at);
        step(file, id, &last)?;
        return Ok(Some(Status::Finalizing));
    }
    Ok(Some(stands))
}

pub(super) fn release_unit(
    file: &Connection,
    id: &str,
    worker: &str,
    unit: u64,
) -> rusqlite::Result<()> {
    let free = "UPDATE batch_units SET until = 0, worker = NULL WHERE number = ?2 AND worker = ?3
                AND batch = (SELECT number FROM batches WHERE id = ?1)";
    file.execute(free, params![id, unit, worker])?;
    Ok(())
}

fn written(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

fn read<T: DeserializeOwned>(row: &Row<'_>, column: usize) -> rusqlite::Result<T> {
    let text = row.get_ref(column)?.as_str()?;
    serde_json::from_str(text)
        .map_err(|error| Error::FromSqlConversionFailure(column, Type::Text, Box::new(error)))
}

fn status(row: &Row<'_>, column: usize) -> rusqlite::Result<Status> {
    let word: String = row.get(column)?;
    Status::from_name(&word).ok_or_else(|| {
        let wrong = format!("unknown batch status {word:?}");
        Error::FromSqlConversionFailure(column, Type::Text, wrong.into())
    })
}
