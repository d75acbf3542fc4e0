//! A small demo shop as a SQLite file, which needs no server. It has sixteen tables and views with
//! a few hundred rows, comments in Chinese and English, a table with a Chinese name and one whose
//! name needs quotes.
//!
//! The file is built from SQL embedded in the program and is identical on every machine.

mod recorded_model;

use std::path::Path;
use std::sync::Arc;

use rusqlite::{Connection, OpenFlags};

use crate::database::{ConnectOptions, Database, DatabaseError, DatabaseErrorKind};
use crate::{ConnectionUrl, connect};

pub use self::recorded_model::RecordedModel;

/// Description of the demo shop, for a connection definition.
pub const DESCRIPTION: &str = "A small shop: customers, orders, products, stock, payments and shipments of 2025. \
                               一家小店：2025 年的客户、订单、商品、库存、付款和物流。";

/// Tables, columns and views, with their comments.
const SCHEMA: &str = include_str!("schema.sql");
/// Rows of the tables.
const DATA: &str = include_str!("data.sql");

/// Creates the demo shop's database file atomically. If the file already exists, it stays unchanged
/// and the result is `false`. The call blocks for a few hundredths of a second.
///
/// # Errors
/// Fails if the file cannot be written.
pub fn create(path: &Path) -> Result<bool, DatabaseError> {
    if path.exists() {
        return Ok(false);
    }
    let failed = |error: &dyn std::fmt::Display| {
        let message = format!("cannot create the demo shop as {}: {error}", path.display());
        let mut fault = DatabaseError::new(DatabaseErrorKind::Unreachable, message);
        fault.hint = Some("name a file in an existing, writable folder".to_owned());
        fault
    };
    // SQLite would parse a relative path that begins with `file:` as a URL.
    let path = std::path::absolute(path).map_err(|error| failed(&error))?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    // The file is built under a temporary name and renamed, so that another process never opens a
    // half-built file.
    let half = path.with_file_name(format!(".{name}.{}", std::process::id()));
    let built = build(&half).map_err(|error| failed(&error));
    let moved = built.and_then(|()| std::fs::rename(&half, &path).map_err(|error| failed(&error)));
    if moved.is_err() {
        // The error above is the one to report, so a failed cleanup is ignored.
        let _ = std::fs::remove_file(&half);
    }
    moved.map(|()| true)
}

/// Opens the demo shop's database file, and creates the file if it is missing.
///
/// # Errors
/// Fails if the file cannot be written, or its path is not UTF-8.
pub fn open(path: &Path) -> Result<Arc<dyn Database>, DatabaseError> {
    create(path)?;
    let url: ConnectionUrl = url(path).parse().map_err(|error: crate::UrlError| {
        DatabaseError::new(DatabaseErrorKind::Unreachable, error.to_string())
    })?;
    connect(&url, &ConnectOptions::default())
}

/// Returns the connection URL of a demo shop in this file.
#[must_use]
pub fn url(path: &Path) -> String {
    format!("sqlite:{}", path.display())
}

fn build(path: &Path) -> rusqlite::Result<()> {
    // A killed process with the same id may have left this file.
    let _ = std::fs::remove_file(path);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
    let mut connection = Connection::open_with_flags(path, flags)?;
    // No journal is needed, because other processes do not see the file before it is complete.
    connection.execute_batch("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;")?;
    let transaction = connection.transaction()?;
    transaction.execute_batch(SCHEMA)?;
    transaction.execute_batch(DATA)?;
    transaction.commit()
}
