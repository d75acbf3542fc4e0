//! Loads rows into the table of a file.

use std::path::{Path, PathBuf};

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, Statement};

use super::FileError;
use super::job::{LoadJob, write_error};
use super::kind::Type;

/// Inserts rows into a table.
#[derive(Debug)]
pub(super) struct TableLoader<'c> {
    connection: &'c Connection,
    insert: Statement<'c>,
    name: String,
    path: PathBuf,
    rows: u64,
    /// Bytes of the current row.
    bytes: usize,
}

impl<'c> TableLoader<'c> {
    /// Creates the table. Its comment, which models see, names the file.
    ///
    /// # Errors
    /// Fails if the database is not writable.
    pub(super) fn make(
        connection: &'c Connection,
        path: &Path,
        name: &str,
        columns: &[(String, Type)],
    ) -> Result<Self, FileError> {
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        let file: String = file
            .chars()
            .map(|c| if c.is_control() { ' ' } else { c })
            .collect();
        let lines = columns
            .iter()
            .map(|(name, kind)| format!("  {} {}", quoted(name), kind.declared()));
        let lines: Vec<String> = lines.collect();
        let create = format!(
            "CREATE TABLE {} ( -- {file}\n{}\n)",
            quoted(name),
            lines.join(",\n")
        );
        let marks = vec!["?"; columns.len()].join(",");
        let insert = format!("INSERT INTO {} VALUES ({marks})", quoted(name));
        let made = connection
            .execute_batch(&create)
            .and_then(|()| connection.prepare(&insert));
        Ok(TableLoader {
            insert: made.map_err(|error| write_error(path, &error))?,
            connection,
            name: name.to_owned(),
            path: path.to_owned(),
            rows: 0,
            bytes: 0,
        })
    }

    /// Sets a value of the current row; unset values are NULL.
    ///
    /// # Errors
    /// Fails if the column does not exist, which callers rule out.
    pub(super) fn set(&mut self, column: usize, value: ValueRef<'_>) -> Result<(), FileError> {
        self.bytes += match value {
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) => bytes.len(),
            ValueRef::Null => 1,
            _ => 8,
        };
        let set = self
            .insert
            .raw_bind_parameter(column + 1, ToSqlOutput::Borrowed(value));
        set.map_err(|error| write_error(&self.path, &error))
    }

    /// Inserts the current row.
    ///
    /// # Errors
    /// Fails if a limit of the settings is exceeded or the disk is full.
    pub(super) fn write(&mut self, job: &mut LoadJob) -> Result<(), FileError> {
        job.count(&self.path, std::mem::take(&mut self.bytes))?;
        self.rows += 1;
        let written = self.insert.raw_execute();
        written.map_err(|error| write_error(&self.path, &error))?;
        self.insert.clear_bindings();
        Ok(())
    }

    /// Stores the number of rows where SQLite looks for it.
    ///
    /// # Errors
    /// Fails if the disk is full.
    pub(super) fn end(self) -> Result<(), FileError> {
        let noted = self
            .connection
            .execute_batch("ANALYZE sqlite_schema")
            .and_then(|()| {
                self.connection.execute(
                    "INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES (?1, NULL, ?2)",
                    (&self.name, self.rows.to_string()),
                )
            });
        noted
            .map(drop)
            .map_err(|error| write_error(&self.path, &error))
    }
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
