//! MySQL and MariaDB, using `mysql_async`.
//!
//! Each unit of work uses a new connection, so that the state of one query cannot affect the next.
//! URLs have the form `mysql://user:password@host:3306/database`. Parameters after `?` are
//! `ssl-mode` (`disabled`, `preferred`, `required`, `verify-identity`), `ssl-ca` (a PEM file),
//! `socket` (a path), and `schemas=a,b` for additional databases on the server.

mod catalogue;
mod error;
mod link;
mod query;
mod roles;
mod text;
mod values;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use mysql_async::Conn;
use mysql_async::prelude::Queryable;
use quillet_core::BoxFuture;
use tokio::time::timeout;

use self::link::{MySqlServer, MySqlSession};
use crate::database::{ConnectOptions, ConnectionReport, Database, ProgressFn, QueryLimits};
use crate::stream::{RowSink, StreamEnd};
use crate::{Catalogue, ConnectionUrl, DatabaseError, DatabaseErrorKind, SqlDialect};

/// Maximum bytes of one catalogue row, which holds short comments and defaults.
const PACKET: usize = 16 << 20;

/// Returns the database at an address. Connects on first use.
///
/// # Errors
/// Fails if the URL has an unknown parameter.
pub(crate) fn open(
    url: &ConnectionUrl,
    options: &ConnectOptions,
) -> Result<Arc<dyn Database>, DatabaseError> {
    Ok(Arc::new(MySql::new(url, options)?))
}

/// A database on a MySQL or MariaDB server.
struct MySql {
    server: Arc<MySqlServer>,
    catalogue_timeout: Duration,
    schemas: Vec<String>,
}

impl MySql {
    /// Creates the database without connecting.
    fn new(url: &ConnectionUrl, options: &ConnectOptions) -> Result<Self, DatabaseError> {
        let server = MySqlServer::new(url, options)?;
        Ok(MySql {
            schemas: server.schemas(),
            server,
            catalogue_timeout: options.catalogue_timeout,
        })
    }

    /// Runs some work on a new connection, within the timeout for catalogues.
    async fn with_session<T>(
        &self,
        work: impl AsyncFnOnce(&mut Conn) -> Result<T, DatabaseError>,
    ) -> Result<T, DatabaseError> {
        let time = self.catalogue_timeout;
        let mut session = MySqlSession::open(&self.server, PACKET, time).await?;
        match timeout(time, work(session.conn())).await {
            Ok(Ok(done)) => {
                session.finished();
                Ok(done)
            }
            Ok(Err(error)) => Err(error),
            Err(_) => {
                session.end().await;
                Err(DatabaseError::new(
                    DatabaseErrorKind::Timeout,
                    format!("timeout: the catalogue was not read within {time:?}"),
                ))
            }
        }
    }
}

impl fmt::Debug for MySql {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MySql({})", self.server.url())
    }
}

impl Database for MySql {
    fn dialect(&self) -> SqlDialect {
        SqlDialect::MySql
    }

    fn describe(&self) -> String {
        self.server.url().to_string()
    }

    fn check(&self) -> BoxFuture<'_, Result<ConnectionReport, DatabaseError>> {
        Box::pin(self.with_session(async |conn| {
            let failed = |error| error::of_query(&error, "");
            let version = conn.query_first("SELECT VERSION()").await.map_err(failed)?;
            let grants: Vec<String> = conn.query("SHOW GRANTS").await.map_err(failed)?;
            Ok(ConnectionReport {
                version: version.unwrap_or_default(),
                warnings: roles::warnings(&grants),
                reader: roles::reader(&self.schemas),
            })
        }))
    }

    fn catalogue<'a>(
        &'a self,
        progress: ProgressFn<'a>,
    ) -> BoxFuture<'a, Result<Catalogue, DatabaseError>> {
        Box::pin(
            self.with_session(async |conn| catalogue::read(conn, &self.schemas, progress).await),
        )
    }

    fn fingerprint(&self) -> BoxFuture<'_, Result<String, DatabaseError>> {
        Box::pin(self.with_session(async |conn| catalogue::fingerprint(conn, &self.schemas).await))
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
