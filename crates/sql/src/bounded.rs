//! A database with a limit on concurrent connections.
//!
//! Every query uses its own connection, and servers allow few: PostgreSQL 100 in total by default.
//! Calls beyond the limit wait in order instead of being rejected by the server.

use std::sync::Arc;
use std::time::Duration;

use quillet_core::BoxFuture;
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::database::{ConnectionReport, Database, ProgressFn};
use crate::stream::{RowSink, StreamEnd};
use crate::{Catalogue, DatabaseError, DatabaseErrorKind, QueryLimits, SqlDialect};

/// Wraps a database and limits its concurrent connections.
#[derive(Debug)]
pub(crate) struct BoundedDatabase {
    database: Arc<dyn Database>,
    connections: usize,
    permits: Semaphore,
    catalogue_timeout: Duration,
}

impl BoundedDatabase {
    /// Limits concurrent connections to `connections`, but at least one.
    pub(crate) fn new(
        database: Arc<dyn Database>,
        connections: usize,
        catalogue_timeout: Duration,
    ) -> Self {
        // With zero permits every call would time out, and a semaphore panics above its maximum.
        let connections = connections.clamp(1, Semaphore::MAX_PERMITS);
        BoundedDatabase {
            database,
            connections,
            permits: Semaphore::new(connections),
            catalogue_timeout,
        }
    }

    /// Waits for a free connection, at most for `timeout`.
    async fn acquire_permit(
        &self,
        timeout: Duration,
    ) -> Result<SemaphorePermit<'_>, DatabaseError> {
        // The query's own timeout also limits the wait, so waiting at most doubles the time of a
        // call.
        match tokio::time::timeout(timeout, self.permits.acquire()).await {
            Ok(Ok(permit)) => Ok(permit),
            // The semaphore is never closed, so only the timeout is left as a cause.
            Ok(Err(_)) | Err(_) => {
                let mut error = DatabaseError::new(
                    DatabaseErrorKind::Limit,
                    format!(
                        "no free connection: all {} connections to {} were busy for {} s (sql.connections)",
                        self.connections,
                        self.database.describe(),
                        timeout.as_secs_f64()
                    ),
                );
                error.hint = Some("try again later, or allow more connections".to_owned());
                Err(error)
            }
        }
    }
}

impl Database for BoundedDatabase {
    fn dialect(&self) -> SqlDialect {
        self.database.dialect()
    }

    fn describe(&self) -> String {
        self.database.describe()
    }

    fn check(&self) -> BoxFuture<'_, Result<ConnectionReport, DatabaseError>> {
        Box::pin(async {
            let _permit = self.acquire_permit(self.catalogue_timeout).await?;
            self.database.check().await
        })
    }

    fn catalogue<'a>(
        &'a self,
        progress: ProgressFn<'a>,
    ) -> BoxFuture<'a, Result<Catalogue, DatabaseError>> {
        Box::pin(async move {
            let _permit = self.acquire_permit(self.catalogue_timeout).await?;
            self.database.catalogue(progress).await
        })
    }

    fn fingerprint(&self) -> BoxFuture<'_, Result<String, DatabaseError>> {
        Box::pin(async {
            let _permit = self.acquire_permit(self.catalogue_timeout).await?;
            self.database.fingerprint().await
        })
    }

    fn query_into<'a>(
        &'a self,
        sql: &'a str,
        limits: &'a QueryLimits,
        sink: &'a mut dyn RowSink,
    ) -> BoxFuture<'a, Result<StreamEnd, DatabaseError>> {
        Box::pin(async move {
            // The permit is held until the query ends, even if the sink is slow, because the
            // connection stays open that long.
            let _permit = self.acquire_permit(limits.timeout).await?;
            self.database.query_into(sql, limits, sink).await
        })
    }
}
