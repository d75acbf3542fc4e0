//! SQLite files, read only.
//!
//! Each call opens the file for itself on a thread of its own and closes it again, so that nothing
//! one query did reaches the next. What a query may do is bounded four times over: the file is
//! opened for reading, the authorizer ([`authorizer`]) lets only reading be prepared, limits
//! ([`open`]) bound what one instruction can take, and a handler that SQLite calls every few
//! thousand instructions ends what takes too long or what nobody waits for any more.
//!
//! A file in write-ahead mode is read with the two files beside it through which SQLite agrees with
//! writers; SQLite makes them, empty, where they are missing.

mod authorizer;
mod catalogue;
mod comments;
mod error;
pub(crate) mod functions;
mod math_functions;
mod open;
mod query;
mod scan;
mod values;
mod virtual_tables;
mod work_context;

use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use quillet_core::BoxFuture;
use rusqlite::Connection;
use tokio::sync::mpsc;

use crate::database::{
    ConnectOptions, ConnectionReport, Database, DatabaseError, ProgressFn, QueryLimits,
};
use crate::stream::{RowSink, SinkClosed, StreamEnd};
use crate::{Catalogue, ConnectionUrl, SqlDialect};

use query::QueryChunk;
use work_context::WorkContext;

/// An SQLite file. It is not opened before it is asked for something.
#[derive(Clone, Debug)]
pub(crate) struct Sqlite {
    path: PathBuf,
    options: ConnectOptions,
}

impl Sqlite {
    /// The file of an address.
    ///
    /// # Errors
    /// The address names no file.
    pub(crate) fn new(
        url: &ConnectionUrl,
        options: &ConnectOptions,
    ) -> Result<Self, DatabaseError> {
        let path = url.path.clone().ok_or_else(|| error::no_file(url))?;
        Ok(Sqlite {
            path,
            options: options.clone(),
        })
    }

    /// Does some work with a connection on a thread of its own, for at most so long. The work
    /// ends soon after this future is dropped, too.
    async fn with<T: Send + 'static>(
        &self,
        time: Duration,
        work: impl FnOnce(&mut Connection, &WorkContext) -> Result<T, DatabaseError> + Send + 'static,
    ) -> Result<T, DatabaseError> {
        let stop = Arc::new(open::CancelRequest::default());
        let _guard = StopOnDrop(Arc::clone(&stop));
        let deadline = Instant::now().checked_add(time);
        let path = self.path.clone();
        // Waiting for a lock counts as connecting, but never exceeds the time of the query.
        let busy = self.options.connect_timeout.min(time);
        let thread = move || {
            let work_on = WorkContext { path, time };
            let mut connection = open::open(&work_on.path, busy, deadline, &stop)?;
            work(&mut connection, &work_on)
        };
        // The thread cannot be aborted: after the timeout the stop flag ends it at its next check.
        let done = tokio::time::timeout(time, tokio::task::spawn_blocking(thread)).await;
        match done {
            Err(_) => Err(error::too_long(time)),
            Ok(Ok(done)) => done,
            Ok(Err(error)) => Err(error::task_error(&self.path, &error)),
        }
    }
}

/// Ends the work when the future that waits for it is dropped.
struct StopOnDrop(Arc<open::CancelRequest>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// Passes on what the thread gives out. A thread whose pieces nobody takes ends.
async fn stream_rows(
    mut taken: mpsc::Receiver<QueryChunk>,
    sink: &mut dyn RowSink,
) -> Result<(), SinkClosed> {
    while let Some(piece) = taken.recv().await {
        match piece {
            QueryChunk::Columns(columns) => sink.columns(columns).await?,
            QueryChunk::Rows(rows) => sink.rows(rows).await?,
        }
    }
    Ok(())
}

/// Reads and passes on side by side. A failure does not wait for a slow sink.
async fn join_streams(
    reading: impl Future<Output = Result<StreamEnd, DatabaseError>>,
    passing: impl Future<Output = Result<(), SinkClosed>>,
) -> Result<StreamEnd, DatabaseError> {
    let (mut reading, mut passing) = (pin!(reading), pin!(passing));
    tokio::select! {
        read = &mut reading => {
            let ended = read?;
            Ok(passing.await.map_or(StreamEnd::Stopped, |()| ended))
        }
        passed = &mut passing => match passed {
            Ok(()) => reading.await,
            Err(SinkClosed) => Ok(StreamEnd::Stopped),
        },
    }
}

impl Database for Sqlite {
    fn dialect(&self) -> SqlDialect {
        SqlDialect::Sqlite
    }

    fn describe(&self) -> String {
        format!("SQLite file {}", self.path.display())
    }

    /// Never warns: the file is opened for reading whatever its permissions are.
    fn check(&self) -> BoxFuture<'_, Result<ConnectionReport, DatabaseError>> {
        let time = self.options.connect_timeout;
        Box::pin(self.with(time, |connection, work| {
            catalogue::probe(connection).map_err(|error| work.fault(&error))?;
            Ok(ConnectionReport {
                version: catalogue::version(),
                warnings: Vec::new(),
                reader: "-- SQLite has no roles. Quillet opens the file for reading only; to be certain:\n\
                         -- chmod a-w FILE"
                    .to_owned(),
            })
        }))
    }

    fn catalogue<'a>(
        &'a self,
        progress: ProgressFn<'a>,
    ) -> BoxFuture<'a, Result<Catalogue, DatabaseError>> {
        Box::pin(async move {
            let (told, mut steps) = tokio::sync::mpsc::unbounded_channel();
            let reading = self.with(self.options.catalogue_timeout, move |connection, work| {
                let tell = |done, total| {
                    // Nobody listens any more where the reading was given up.
                    let _ = told.send((done, total));
                };
                catalogue::read(connection, &tell).map_err(|error| work.fault(&error))
            });
            let telling = async {
                while let Some((done, total)) = steps.recv().await {
                    progress(done, total, "reading tables");
                }
            };
            let (catalogue, ()) = tokio::join!(reading, telling);
            catalogue
        })
    }

    fn fingerprint(&self) -> BoxFuture<'_, Result<String, DatabaseError>> {
        Box::pin(self.with(self.options.connect_timeout, |connection, work| {
            catalogue::fingerprint(connection).map_err(|error| work.fault(&error))
        }))
    }

    fn query_into<'a>(
        &'a self,
        sql: &'a str,
        limits: &'a QueryLimits,
        sink: &'a mut dyn RowSink,
    ) -> BoxFuture<'a, Result<StreamEnd, DatabaseError>> {
        // One batch is on its way while the thread makes the next.
        let (given, taken) = mpsc::channel(1);
        let (text, bounds) = (sql.to_owned(), limits.clone());
        let reading = self.with(limits.timeout, move |connection, work| {
            query::run(connection, &text, &bounds, work, &given)
        });
        Box::pin(async move {
            let both = join_streams(reading, stream_rows(taken, sink));
            let done = tokio::time::timeout(limits.timeout, both).await;
            done.unwrap_or_else(|_| Err(error::too_long(limits.timeout)))
        })
    }
}
