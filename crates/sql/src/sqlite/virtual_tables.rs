//! Initializes virtual tables, such as full-text search and R-trees, which are implemented by
//! modules inside SQLite.
//!
//! On first use in a connection, such a table prepares its internal statements, including those
//! that write. The authorizer would deny these and make the table unusable. A trusted statement
//! therefore initializes the tables of a query before the authorizer is installed; it is prepared
//! but never run.

use rusqlite::{Connection, ErrorCode};

const NAMES: &str = "SELECT name FROM main.sqlite_schema
    WHERE type = 'table' AND sql LIKE 'CREATE VIRTUAL TABLE%'";
/// Query that returns whether the file has views, which can read virtual tables that the user's
/// query does not name.
const VIEWS: &str = "SELECT EXISTS (SELECT 1 FROM main.sqlite_schema WHERE type = 'view')";
/// Maximum number of tables to initialize, because each prepares several statements.
const MOST: usize = 256;

/// Initializes the virtual tables that a query can read.
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
            // A missing module or tokenizer is reported by the query, if it reads the table at all.
            Err(error) if error.sqlite_error_code() != Some(ErrorCode::Unknown) => {
                return Err(error);
            }
            _ => {}
        }
    }
    Ok(())
}
