//! A database that is asked only so many things at a time.
//!
//! Every query has a connection of its own, and servers have few: PostgreSQL 100 for everybody,
//! unless somebody said otherwise. What comes beyond the bound waits for its turn, first come,
//! first served; a server that is asked for one connection too many refuses.

use std::sync::Arc;
use std::time::Duration;

use quillet_core::BoxFuture;
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::database::{ConnectionReport, Database, ProgressFn};
use crate::stream::{RowSink, StreamEnd};
use crate::{Catalogue, DatabaseError, DatabaseErrorKind, QueryLimits, SqlDialect};

/// A database with a bound on the connections to it.
#[derive(Debug)]
pub(crate) struct BoundedDatabase {
    database: Arc<dyn Database>,
    connections: usize,
    turns: Semaphore,
    catalogue_timeout: Duration,
}

impl BoundedDatabase {
    /// Lets so many connections be open at a time, at least one.
    pub(crate) fn new(
        database: Arc<dyn Database>,
        connections: usize,
        catalogue_timeout: Duration,
    ) -> Self {
        // At least one permit, or every call would wait for its whole timeout; a semaphore panics
        // beyond its maximum.
        let connections = connections.clamp(1, Semaphore::MAX_PERMITS);
        BoundedDatabase {
            database,
            connections,
            turns: Semaphore::new(connections),
            catalogue_timeout,
        }
    }

    /// Waits for a turn, no longer than the work itself may take.
    async fn turn(&self, patience: Duration) -> Result<SemaphorePermit<'_>, DatabaseError> {
        // The wait is bounded by the time of the work itself: a caller never waits longer for a
        // connection than for an answer.
        match tokio::time::timeout(patience, self.turns.acquire()).await {
            Ok(Ok(turn)) => Ok(turn),
            // Nobody closes the semaphore.
            Ok(Err(_)) | Err(_) => {
                let mut error = DatabaseError::new(
                    DatabaseErrorKind::Limit,
                    format!(
                        "no free connection: all {} connections to {} were busy for {} s (sql.connections)",
                        self.connections,
                        self.database.describe(),
                        patience.as_secs_f64()
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
            let _turn = self.turn(self.catalogue_timeout).await?;
            self.database.check().await
        })
    }

    fn catalogue<'a>(
        &'a self,
        progress: ProgressFn<'a>,
    ) -> BoxFuture<'a, Result<Catalogue, DatabaseError>> {
        Box::pin(async move {
            let _turn = self.turn(self.catalogue_timeout).await?;
            self.database.catalogue(progress).await
        })
    }

    fn fingerprint(&self) -> BoxFuture<'_, Result<String, DatabaseError>> {
        Box::pin(async {
            let _turn = self.turn(self.catalogue_timeout).await?;
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
            // Held until the query has ended, including the time that a slow sink takes: the
            // connection stays open for so long.
            let _turn = self.turn(limits.timeout).await?;
            self.database.query_into(sql, limits, sink).await
        })
    }
}
