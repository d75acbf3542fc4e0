//! Runs queries with the row limit on SQLite in memory, and checks the returned rows.

use quillet_sql::SqlDialect;
use quillet_sql::guard::{self, Policy};
use rusqlite::Connection;
use serde_json::Value;

use super::text;

/// Returns the difference from the expected rows, or from the expected truncation.
pub(super) fn difference(_: &Value, case: &Value) -> Option<String> {
    let Some(dialect) = SqlDialect::from_name(text(case, "dialect")) else {
        return Some("unknown dialect".to_owned());
    };
    let cap = case["cap"].as_u64().unwrap_or_default();
    let policy = Policy {
        rows: Some(cap),
        ..Policy::default()
    };
    let approved = match guard::check(text(case, "sql"), dialect, None, &policy) {
        Ok(approved) => approved,
        Err(error) => return Some(format!("refused: {error}")),
    };
    let Some(expected) = case["expect_rows"].as_u64() else {
        // The database itself rejects the query, so it only needs to pass the guard.
        return None;
    };
    let truncated = case["expect_truncated"].as_bool().unwrap_or_default();
    match rows(&in_words_of_sqlite(&approved.sql)) {
        Ok(rows) => {
            let came = (rows.min(cap), rows > cap);
            (came != (expected, truncated)).then(|| {
                format!(
                    "expected {expected} {truncated}, came {came:?}: {}",
                    approved.sql
                )
            })
        }
        Err(error) => Some(format!("{error}: {}", approved.sql)),
    }
}

/// Returns the number of rows of a query over the 60 orders of the vectors.
fn rows(sql: &str) -> rusqlite::Result<u64> {
    let db = Connection::open_in_memory()?;
    db.execute_batch(
        "CREATE TABLE orders (id INTEGER PRIMARY KEY);
         WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60)
         INSERT INTO orders SELECT i FROM n;",
    )?;
    let mut statement = db.prepare(sql)?;
    let mut rows = statement.query([])?;
    let mut count = 0;
    while rows.next()?.is_some() {
        count += 1;
    }
    Ok(count)
}

/// Translates PostgreSQL syntax that SQLite lacks.
fn in_words_of_sqlite(sql: &str) -> String {
    let mut sql = sql.replace("LEAST(", "min(");
    if let Some(rest) = sql.strip_prefix("TABLE ") {
        sql = format!("SELECT * FROM {rest}");
    }
    if let Some(values) = sql.strip_prefix("VALUES ") {
        let (rows, limit) = values.split_once(" LIMIT ").unwrap_or((values, "-1"));
        sql = format!("SELECT * FROM (VALUES {rows}) LIMIT {limit}");
    }
    if let Some((before, rest)) = sql.split_once(" OFFSET 55") {
        sql = format!("{before}{rest} OFFSET 55");
    }
    sql.replace("FETCH FIRST", "LIMIT")
        .replace(" ROWS ONLY", "")
}
