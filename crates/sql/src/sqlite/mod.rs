//! SQLite files, opened read-only.
//!
//! Each call opens the file on a separate thread and closes it again, so that the state of one
//! query cannot affect the next. Four mechanisms restrict a query. The file is opened read-only.
//! The authorizer ([`authorizer`]) allows only statements that read. Limits ([`open`]) bound the
//! work of one instruction. A handler, called every few thousand instructions, stops a query that
//! takes too long or whose caller has left.
//!
//! A file in write-ahead mode is read with its two companion files, through which SQLite
//! coordinates with writers. SQLite creates them, empty, if they are missing.

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

/// A SQLite file, which is opened for each call.
#[derive(Clone, Debug)]
pub(crate) struct Sqlite {
    path: PathBuf,
    options: ConnectOptions,
}

impl Sqlite {
    /// Creates the database of a URL.
    ///
    /// # Errors
    /// Fails if the URL does not name a file.
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

    /// Runs work with a connection on a separate thread, for at most `time`. If this future is
    /// dropped, the work stops soon.
    async fn with<T: Send + 'static>(
        &self,
        time: Duration,
        work: impl FnOnce(&mut Connection, &WorkContext) -> Result<T, DatabaseError> + Send + 'static,
    ) -> Result<T, DatabaseError> {
        let stop = Arc::new(open::CancelRequest::default());
        let _guard = StopOnDrop(Arc::clone(&stop));
        let deadline = Instant::now().checked_add(time);
        let path = self.path.clone();
        // Waiting for a lock counts as connecting, but never exceeds the query's time limit.
        let busy = self.options.connect_timeout.min(time);
        let thread = move || {
            let work_on = WorkContext { path, time };
            let mut connection = open::open(&work_on.path, busy, deadline, &stop)?;
            work(&mut connection, &work_on)
        };
        // The thread cannot be aborted. After the timeout, the stop flag ends the thread at its
        // next check.
        let done = tokio::time::timeout(time, tokio::task::spawn_blocking(thread)).await;
        match done {
            Err(_) => Err(error::too_long(time)),
            Ok(Ok(done)) => done,
            Ok(Err(error)) => Err(error::task_error(&self.path, &error)),
        }
    }
}

/// Cancels the work when the waiting future is dropped.
struct StopOnDrop(Arc<open::CancelRequest>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// Passes on the output of the thread. If the receiver is dropped, the thread ends.
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

/// Reads and passes on rows concurrently, so that a failure does not wait for a slow sink.
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

    /// Never warns, because the file is opened read-only regardless of its permissions.
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
                    // If the read was cancelled, the receiver no longer exists.
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
        // One batch is in transit while the thread produces the next.
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
