//! Virtual tables, which are programs of SQLite's own: full-text search, R-trees.
//!
//! Before its first use in a connection, such a table prepares the statements with which it keeps
//! its data, those that write among them. The authorizer would refuse these, and with them the
//! table. So the tables of a query are made ready before the authorizer is there, by a statement
//! that is ours; nothing runs.

use rusqlite::{Connection, ErrorCode};

const NAMES: &str = "SELECT name FROM main.sqlite_schema
    WHERE type = 'table' AND sql LIKE 'CREATE VIRTUAL TABLE%'";
/// Whether the file has views, which can read a virtual table that a query does not name.
const VIEWS: &str = "SELECT EXISTS (SELECT 1 FROM main.sqlite_schema WHERE type = 'view')";
/// Most tables that are made ready: each takes a few statements.
const MOST: usize = 256;

/// Makes the virtual tables ready that a query can read.
pub(super) fn connect(connection: &Connection, sql: &str) -> rusqlite::Result<()> {
    let mut names = connection.prepare(NAMES)?;
    let names = names.query_map([], |row| row.get::<_, String>(0))?;
    let mut names = names.collect::<rusqlite::Result<Vec<String>>>()?;
    if names.is_empty() {
        return Ok(());
    }
    let has_views: bool = connection.query_row(VIEWS, [], |row| row.get(0))?;
    if !has_views {
        let sql = sql.to_lowercase();
        names.retain(|name| sql.contains(&name.to_lowercase()));
    }
    for name in names.iter().take(MOST) {
        let sql = format!("SELECT 1 FROM main.\"{}\"", name.replace('"', "\"\""));
        match connection.prepare(&sql) {
            // A module that is not linked, a tokenizer that is not there: the query says so, if it
            // reads the table at all.
            Err(error) if error.sqlite_error_code() != Some(ErrorCode::Unknown) => {
                return Err(error);
            }
            _ => {}
        }
    }
    Ok(())
}
