//! Opens a file read-only, and sets the limits of a connection.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use quillet_core::lock::lock;

use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, InterruptHandle, OpenFlags};

use super::{error, math_functions};
use crate::database::DatabaseError;

/// Virtual machine instructions between two checks of the clock, which take a few tens of
/// microseconds.
const INSTRUCTIONS: i32 = 4_000;

/// The settings that `sqlite.org/security.html` recommends for untrusted files and queries. An
/// unknown name in double quotes remains a string, as everywhere in SQLite, because a fifth of the
/// queries from people and models contain `country = "USA"`.
const SETTINGS: [(DbConfig, bool); 7] = [
    (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
    (DbConfig::SQLITE_DBCONFIG_DQS_DML, true),
    (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
    (DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false),
    (DbConfig::SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER, false),
    (DbConfig::SQLITE_DBCONFIG_ENABLE_ATTACH_CREATE, false),
    (DbConfig::SQLITE_DBCONFIG_ENABLE_ATTACH_WRITE, false),
];

/// Limits on one query, besides the length of a value. Queries cannot have parameters (see
/// [`super::query`]), but the internal statements of full-text and R-tree tables have a few.
const LIMITS: [(Limit, i32); 11] = [
    (Limit::SQLITE_LIMIT_SQL_LENGTH, 1_000_000),
    (Limit::SQLITE_LIMIT_COLUMN, 2_000),
    (Limit::SQLITE_LIMIT_EXPR_DEPTH, 500),
    (Limit::SQLITE_LIMIT_COMPOUND_SELECT, 200),
    (Limit::SQLITE_LIMIT_VDBE_OP, 250_000),
    (Limit::SQLITE_LIMIT_FUNCTION_ARG, 127),
    (Limit::SQLITE_LIMIT_ATTACHED, 0),
    (Limit::SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1_000),
    (Limit::SQLITE_LIMIT_VARIABLE_NUMBER, 16),
    (Limit::SQLITE_LIMIT_TRIGGER_DEPTH, 1),
    (Limit::SQLITE_LIMIT_WORKER_THREADS, 0),
];

/// Lets another thread request that some work stops.
#[derive(Default)]
pub(super) struct CancelRequest {
    asked: AtomicBool,
    handle: Mutex<Option<InterruptHandle>>,
}

impl CancelRequest {
    /// Stops the current work and all later work.
    pub(super) fn cancel(&self) {
        self.asked.store(true, Ordering::Relaxed);
        // SQLite checks the flag only every few thousand instructions; the handle interrupts
        // immediately.
        let handle = lock(&self.handle);
        if let Some(handle) = handle.as_ref() {
            handle.interrupt();
        }
    }

    fn set_handle(&self, connection: &Connection) {
        let mut handle = lock(&self.handle);
        *handle = Some(connection.get_interrupt_handle());
    }
}

/// Opens a file read-only. All work on it stops at the deadline or when it is cancelled.
pub(super) fn open(
    path: &Path,
    busy: Duration,
    deadline: Option<Instant>,
    stop: &Arc<CancelRequest>,
) -> Result<Connection, DatabaseError> {
    let place = database_path(path)?;
    // SQLite's own lock is not needed, because Rust's types prevent two threads from using a
    // connection at the same time.
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let failed = |error: rusqlite::Error| error::from_sqlite(path, busy, &error);
    let connection = Connection::open_with_flags(&place, flags).map_err(failed)?;
    stop.set_handle(&connection);
    configure(connection, busy, deadline, stop).map_err(failed)
}

/// Returns the absolute path of the file. SQLite interprets names such as `file:x?mode=rwc` or
/// `:memory:` specially. It also opens anything else that exists, even a pipe, on which it would
/// block forever.
fn database_path(path: &Path) -> Result<PathBuf, DatabaseError> {
    match std::fs::metadata(path) {
        Ok(found) if found.is_file() => {}
        Ok(_) => return Err(error::no_regular_file(path)),
        Err(error) => return Err(error::missing(path, &error)),
    }
    std::path::absolute(path).map_err(|error| error::missing(path, &error))
}

fn configure(
    mut connection: Connection,
    busy: Duration,
    deadline: Option<Instant>,
    stop: &Arc<CancelRequest>,
) -> rusqlite::Result<Connection> {
    connection.busy_timeout(busy)?;
    for (setting, value) in SETTINGS {
        connection.set_db_config(setting, value)?;
    }
    // In addition to the read-only open, this is a second protection.
    connection.execute_batch("PRAGMA query_only = ON; PRAGMA cell_size_check = ON;")?;
    let stop = Arc::clone(stop);
    let over = move || {
        let late = deadline.is_some_and(|deadline| Instant::now() >= deadline);
        late || stop.asked.load(Ordering::Relaxed)
    };
    math_functions::add(&connection)?;
    connection.progress_handler(INSTRUCTIONS, Some(over))?;
    Ok(connection)
}

/// Sets the limits for untrusted queries. The schema must be loaded before, because these limits
/// must not apply to it.
pub(super) fn set_limits(connection: &Connection, value: usize) -> rusqlite::Result<()> {
    for (limit, most) in LIMITS {
        connection.set_limit(limit, most)?;
    }
    bound_values(connection, value)
}

/// Limits the bytes of one value and of one stored row, including computed ones.
pub(super) fn bound_values(connection: &Connection, bytes: usize) -> rusqlite::Result<()> {
    let bytes = i32::try_from(bytes).unwrap_or(i32::MAX);
    connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, bytes)?;
    Ok(())
}
