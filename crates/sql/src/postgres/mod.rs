//! PostgreSQL, 12 and later.
//!
//! Limits that this driver enforces on every query, also on an approved one:
//!
//! - The text is prepared, which takes one statement only, and described before it runs. A
//!   statement that gives no rows (COPY, SET, DO, LISTEN, COMMIT, DDL, changes without RETURNING)
//!   is refused unrun.
//! - It runs in a READ ONLY transaction that is rolled back in the end, on a connection that is
//!   closed afterwards: settings, session locks and temporary tables go with it.
//! - The server has a time limit for it. A query that nobody waits for any more is cancelled.
//! - Rows and bytes are counted as they arrive, the bytes of one row below the library.
//!
//! Before that, the server reports what the query resolved to ([`judge`]). Functions with effects
//! outside the transaction are rejected there, however they are called, and so are roles that reach
//! outside the database.

mod catalogue;
mod error;
mod judge;
mod privileges;
mod query;
mod query_text;
mod server;
mod session;
mod socket;
mod tls;
mod value;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use quillet_core::BoxFuture;

use crate::database::{ConnectOptions, ConnectionReport, Database, ProgressFn};
use crate::stream::{RowSink, StreamEnd};
use crate::{Catalogue, ConnectionUrl, DatabaseError, QueryLimits, SqlDialect};
use server::PostgresServer;

/// Returns the database at an address. Connects on first use.
///
/// # Errors
/// The address has a parameter that is not known.
pub(crate) fn open(
    url: &ConnectionUrl,
    options: &ConnectOptions,
) -> Result<Arc<dyn Database>, DatabaseError> {
    Ok(Arc::new(Postgres::new(url, options)?))
}

/// A database of a PostgreSQL server.
struct Postgres {
    server: Arc<PostgresServer>,
    catalogue_timeout: Duration,
}

impl Postgres {
    /// The database at an address. Nothing is opened yet.
    ///
    /// # Errors
    /// The address has a parameter that is not known.
    fn new(url: &ConnectionUrl, options: &ConnectOptions) -> Result<Self, DatabaseError> {
        Ok(Postgres {
            server: Arc::new(PostgresServer::of(url, options)?),
            catalogue_timeout: options.catalogue_timeout,
        })
    }
}

impl fmt::Debug for Postgres {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Postgres({})", self.server.shown)
    }
}

impl Database for Postgres {
    fn dialect(&self) -> SqlDialect {
        SqlDialect::PostgreSql
    }

    fn describe(&self) -> String {
        self.server.shown.clone()
    }

    fn check(&self) -> BoxFuture<'_, Result<ConnectionReport, DatabaseError>> {
        Box::pin(privileges::check(&self.server, self.catalogue_timeout))
    }

    fn catalogue<'a>(
        &'a self,
        progress: ProgressFn<'a>,
    ) -> BoxFuture<'a, Result<Catalogue, DatabaseError>> {
        Box::pin(catalogue::read(
            &self.server,
            self.catalogue_timeout,
            progress,
        ))
    }

    fn fingerprint(&self) -> BoxFuture<'_, Result<String, DatabaseError>> {
        Box::pin(catalogue::fingerprint(&self.server, self.catalogue_timeout))
    }

    fn query_into<'a>(
        &'a self,
        sql: &'a str,
        limits: &'a QueryLimits,
        sink: &'a mut dyn RowSink,
    ) -> BoxFuture<'a, Result<StreamEnd, DatabaseError>> {
        Box::pin(query::run(&self.server, sql, limits, sink))
    }
}
