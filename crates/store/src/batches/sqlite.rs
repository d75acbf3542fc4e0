//! Batches in an SQLite file, which several processes on one machine can share.

use std::path::Path;
use std::time::Duration;

use futures_util::FutureExt;
use quillet_core::batch::{
    Batch, BatchChunk, BatchOrder, BatchTransition, Batches, FileChunk, FileChunkPage, FileInfo,
    Report, Status,
};
use quillet_core::store::StoreError;
use quillet_core::{BoxFuture, clock};
use rusqlite::Connection;

use super::rows;
use crate::sqlite::Database;

/// Size limit of in-memory databases.
const MEMORY: &str = "PRAGMA max_page_count = 65536";

/// Batches in SQLite, in a file or in memory.
#[derive(Debug)]
pub struct SqliteBatches {
    database: Database,
    is_in_memory: bool,
}

impl SqliteBatches {
    /// Opens or creates the file. `:memory:` creates a database of at most 256 MiB that is deleted
    /// on drop.
    ///
    /// # Errors
    /// `Configuration` for an invalid path or a file of a newer version; `Corrupt` for a file that
    /// is not an SQLite database.
    pub async fn open(path: &Path) -> Result<Self, StoreError> {
        let database = Database::open(path, &rows::PART).await?;
        let is_in_memory = path == Path::new(":memory:");
        if is_in_memory {
            let bound = |file: &mut Connection| file.query_row(MEMORY, [], |_| Ok(()));
            database.run(bound).await?;
        }
        Ok(SqliteBatches {
            database,
            is_in_memory,
        })
    }

    /// Deletes data that expired before a time, in portions, so other writers can run in between.
    async fn forget(&self, now: u64) -> Result<(), StoreError> {
        while self
            .database
            .change(move |file| rows::sweep(file, now))
            .await?
        {}
        Ok(())
    }
}

/// Returns the end of a lease that begins now, and the current time, in milliseconds.
fn lease_from_now(lease: Duration) -> (u64, u64) {
    let now = clock::millis();
    let lease = u64::try_from(lease.as_millis()).unwrap_or(u64::MAX);
    (now, now.saturating_add(lease))
}

impl Batches for SqliteBatches {
    fn describe(&self) -> String {
        if self.is_in_memory {
            "memory".to_owned()
        } else {
            format!("sqlite {}", self.database.path())
        }
    }

    fn add_pieces<'a>(
        &'a self,
        file: &'a str,
        pieces: &'a [FileChunk],
        expires: u64,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        let (id, pieces) = (file.to_owned(), pieces.to_vec());
        let work = move |file: &Connection| rows::add_pieces(file, &id, &pieces, expires);
        self.database.change(work).boxed()
    }

    fn keep_file<'a>(&'a self, file: &'a FileInfo) -> BoxFuture<'a, Result<(), StoreError>> {
        let info = file.clone();
        let work = move |file: &Connection| rows::keep_file(file, &info);
        self.database.change(work).boxed()
    }

    fn file<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<FileInfo>, StoreError>> {
        let id = id.to_owned();
        let work = move |file: &mut Connection| rows::file_of(file, &id);
        self.database.run(work).boxed()
    }

    fn files<'a>(&'a self, owner: &'a str) -> BoxFuture<'a, Result<Vec<FileInfo>, StoreError>> {
        let owner = owner.to_owned();
        let work = move |file: &mut Connection| rows::files_of(file, &owner);
        self.database.run(work).boxed()
    }

    fn pieces<'a>(
        &'a self,
        file: &'a str,
        from: u64,
        bytes: usize,
    ) -> BoxFuture<'a, Result<FileChunkPage, StoreError>> {
        let id = file.to_owned();
        let work = move |file: &mut Connection| rows::pieces(file, &id, from, bytes);
        self.database.run(work).boxed()
    }

    fn remove_file<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<bool, StoreError>> {
        async move {
            let id = id.to_owned();
            let hide = move |file: &Connection| rows::hide_file(file, &id);
            let removed = self.database.change(hide).await?;
            if removed {
                self.forget(1).await?;
            }
            Ok(removed)
        }
        .boxed()
    }

    fn begin<'a>(&'a self, order: &'a BatchOrder) -> BoxFuture<'a, Result<(), StoreError>> {
        let order = order.clone();
        let work = move |file: &Connection| rows::begin(file, &order);
        self.database.change(work).boxed()
    }

    fn batch<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<Batch>, StoreError>> {
        let id = id.to_owned();
        let work = move |file: &mut Connection| rows::batch_of(file, &id);
        self.database.run(work).boxed()
    }

    fn batches<'a>(&'a self, owner: &'a str) -> BoxFuture<'a, Result<Vec<String>, StoreError>> {
        let owner = owner.to_owned();
        let work = move |file: &mut Connection| rows::batches_of(file, &owner);
        self.database.run(work).boxed()
    }

    fn active(&self) -> BoxFuture<'_, Result<Vec<String>, StoreError>> {
        self.database.run(|file| rows::active(file)).boxed()
    }

    fn step<'a>(
        &'a self,
        id: &'a str,
        step: &'a BatchTransition,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        let (id, step) = (id.to_owned(), step.clone());
        let work = move |file: &Connection| rows::step(file, &id, &step);
        self.database.change(work).boxed()
    }

    fn add_units<'a>(
        &'a self,
        id: &'a str,
        units: &'a [u64],
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        let (id, units) = (id.to_owned(), units.to_vec());
        let work = move |file: &Connection| rows::add_units(file, &id, &units);
        self.database.change(work).boxed()
    }

    fn claim<'a>(
        &'a self,
        id: &'a str,
        worker: &'a str,
        lease: Duration,
    ) -> BoxFuture<'a, Result<Option<BatchChunk>, StoreError>> {
        let (id, worker) = (id.to_owned(), worker.to_owned());
        let (now, until) = lease_from_now(lease);
        let work = move |file: &Connection| rows::claim(file, &id, &worker, now, until);
        self.database.change(work).boxed()
    }

    fn renew<'a>(
        &'a self,
        id: &'a str,
        worker: &'a str,
        units: &'a [u64],
        lease: Duration,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        let (id, worker, units) = (id.to_owned(), worker.to_owned(), units.to_vec());
        let (_, until) = lease_from_now(lease);
        let work = move |file: &Connection| rows::renew(file, &id, &worker, &units, until);
        self.database.change(work).boxed()
    }

    fn answered<'a>(
        &'a self,
        id: &'a str,
        first: u64,
        last: u64,
    ) -> BoxFuture<'a, Result<Vec<u64>, StoreError>> {
        let id = id.to_owned();
        let work = move |file: &mut Connection| rows::answered(file, &id, first, last);
        self.database.run(work).boxed()
    }

    fn report<'a>(
        &'a self,
        id: &'a str,
        report: &'a Report,
        at: u64,
    ) -> BoxFuture<'a, Result<Option<Status>, StoreError>> {
        let (id, report) = (id.to_owned(), report.clone());
        let work = move |file: &Connection| rows::report(file, &id, &report, at);
        self.database.change(work).boxed()
    }

    fn release_chunk<'a>(
        &'a self,
        id: &'a str,
        worker: &'a str,
        unit: u64,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        let (id, worker) = (id.to_owned(), worker.to_owned());
        let work = move |file: &Connection| rows::release_unit(file, &id, &worker, unit);
        self.database.change(work).boxed()
    }

    fn sweep(&self, now: u64) -> BoxFuture<'_, Result<(), StoreError>> {
        self.forget(now).boxed()
    }
}
