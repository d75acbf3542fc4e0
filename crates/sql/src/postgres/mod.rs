//! PostgreSQL, 12 and later.
//!
//! This driver enforces these limits on every query, even on an approved one:
//!
//! - The text is prepared, which allows one statement only, and described before it runs. A
//!   statement that does not return rows (COPY, SET, DO, LISTEN, COMMIT, DDL, changes without
//!   RETURNING) is rejected without running it.
//! - The query runs in a READ ONLY transaction that is rolled back. The connection is closed
//!   afterwards, which discards settings, session locks and temporary tables.
//! - The server enforces a time limit. If the client stops waiting, the query is cancelled.
//! - Rows and bytes are counted as they arrive. The bytes of a single row are counted below the
//!   library.
//!
//! Before that, the server reports what the query resolved to ([`judge`]). That check rejects
//! functions with effects outside the transaction, however they are called, and roles with
//! privileges beyond the database.

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
/// Fails if the URL has an unknown parameter.
pub(crate) fn open(
    url: &ConnectionUrl,
    options: &ConnectOptions,
) -> Result<Arc<dyn Database>, DatabaseError> {
    Ok(Arc::new(Postgres::new(url, options)?))
}

/// A database on a PostgreSQL server.
struct Postgres {
    server: Arc<PostgresServer>,
    catalogue_timeout: Duration,
}

impl Postgres {
    /// Creates the database without connecting.
    ///
    /// # Errors
    /// Fails if the URL has an unknown parameter.
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
