//! Tests the MySQL driver on a real MariaDB server.

mod catalogues;
mod connections;
mod endings;
mod queries;
mod safety;

use std::sync::Arc;
use std::time::Duration;

use quillet_sql::database::ConnectOptions;
use quillet_sql::{Cell, Database, DatabaseError, QueryLimits, RowSet};

/// Opens the database at a URL.
fn open(url: &str) -> Arc<dyn Database> {
    try_open(url).unwrap()
}

fn try_open(url: &str) -> Result<Arc<dyn Database>, DatabaseError> {
    quillet_sql::connect(&url.parse().unwrap(), &powerful())
}

/// Returns limits that no test reaches by accident.
fn limits() -> QueryLimits {
    QueryLimits {
        timeout: Duration::from_secs(60),
        ..QueryLimits::default()
    }
}

async fn rows(database: &dyn Database, sql: &str) -> RowSet {
    let rows = database.query(sql, &limits()).await;
    rows.unwrap_or_else(|error| panic!("{sql}: {error:?}"))
}

async fn refused(database: &dyn Database, sql: &str) -> DatabaseError {
    match database.query(sql, &limits()).await {
        Ok(rows) => panic!("{sql} ran: {rows:?}"),
        Err(error) => error,
    }
}

/// Returns the single value of a result.
fn only(rows: RowSet) -> Cell {
    let mut cells = rows.rows.into_iter().flatten();
    let (Some(cell), None) = (cells.next(), cells.next()) else {
        panic!("not one value");
    };
    cell
}

/// Allows the administrator of a test server to run queries.
fn powerful() -> ConnectOptions {
    ConnectOptions {
        powerful_roles: true,
        ..ConnectOptions::default()
    }
}
