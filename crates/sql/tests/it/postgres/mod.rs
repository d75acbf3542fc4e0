//! Tests the PostgreSQL driver on a real server.

mod errors;
mod judges;
mod limits;
mod relations;
mod rights;
mod safety;
mod samples;
mod tls;
mod types;

use std::path::PathBuf;
use std::sync::Arc;

use quillet_sql::database::{ConnectOptions, SecondJudge};
use quillet_sql::{Catalogue, Cell, Database, DatabaseError, QueryLimits, RowSet, connect};

/// Opens the database at a URL.
fn database(url: &str) -> Arc<dyn Database> {
    connect(&url.parse().unwrap(), &powerful()).unwrap()
}

async fn catalogue(url: &str) -> Catalogue {
    database(url).catalogue(&|_, _, _| {}).await.unwrap()
}

/// Opens the database without the server-side check, to test the execution alone.
fn unjudged(url: &str) -> Arc<dyn Database> {
    let options = ConnectOptions {
        second_judge: SecondJudge::Off,
        ..powerful()
    };
    connect(&url.parse().unwrap(), &options).unwrap()
}

async fn query(url: &str, sql: &str) -> Result<RowSet, DatabaseError> {
    unjudged(url).query(sql, &QueryLimits::default()).await
}

/// Returns the single value of a query.
async fn value(url: &str, sql: &str) -> Cell {
    let mut rows = query(url, sql)
        .await
        .unwrap_or_else(|e| panic!("{sql}: {e:?}"));
    assert_eq!((rows.rows.len(), rows.columns.len()), (1, 1), "{sql}");
    rows.rows.remove(0).remove(0)
}

/// Returns a file of third-party data. If it is missing, prints a message and returns `None`.
fn shared(path: &str) -> Option<String> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let text = std::fs::read_to_string(root.join(path)).ok();
    if text.is_none() {
        eprintln!("left out: ../shared/{path} is not here");
    }
    text
}

/// Allows the administrator of a test server to run queries.
fn powerful() -> ConnectOptions {
    ConnectOptions {
        powerful_roles: true,
        ..ConnectOptions::default()
    }
}
