//! In-memory archive.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex};

use futures_util::FutureExt;
use quillet_core::BoxFuture;
use quillet_core::archive::{Archive, QueryPage, QueryRecord};
use quillet_core::lock::lock;
use quillet_core::store::{StoreError, StoreErrorKind};

use super::{ArchiveOptions, accepted, among, name};

/// In-memory archive of database catalogues, values and queries.
///
/// # Examples
///
/// ```
/// use quillet_core::archive::Archive;
/// use quillet_store::{ArchiveOptions, MemoryArchive};
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let archive = MemoryArchive::new(ArchiveOptions::default());
/// archive.keep_catalogue("shop", b"tables").await?;
/// let catalogue = archive.catalogue("shop").await?;
/// assert_eq!(catalogue.as_deref(), Some(&b"tables"[..]));
/// # Ok::<(), quillet_core::store::StoreError>(())
/// # }).unwrap();
/// ```
#[derive(Debug)]
pub struct MemoryArchive {
    options: ArchiveOptions,
    kept: Mutex<ArchiveState>,
}

#[derive(Debug, Default)]
struct ArchiveState {
    databases: HashMap<Arc<str>, DatabaseRecords>,
    /// Number of the last record.
    last: u64,
    uses: u64,
    bytes: usize,
}

/// Records of one database.
#[derive(Debug, Default)]
struct DatabaseRecords {
    catalogue: Option<Arc<[u8]>>,
    values: Option<Arc<[u8]>>,
    /// Accepted records by number, with their sizes.
    accepted: BTreeMap<u64, (QueryRecord, usize)>,
    /// Records from oldest to newest, with their sizes.
    records: VecDeque<(Arc<QueryRecord>, usize)>,
    /// Total size of all records in bytes.
    bytes: usize,
    /// Position in the order of use.
    used: u64,
}

impl DatabaseRecords {
    fn size(&self) -> usize {
        let texts = [&self.catalogue, &self.values];
        let texts = texts.iter().filter_map(|kept| kept.as_ref());
        let accepted = self.accepted.values().map(|(_, size)| size);
        self.bytes + texts.map(|kept| kept.len()).sum::<usize>() + accepted.sum::<usize>()
    }

    fn drop_oldest(&mut self) -> bool {
        let Some((_, size)) = self.records.pop_front() else {
            return false;
        };
        self.bytes -= size;
        true
    }

    fn newest_first(&self) -> impl Iterator<Item = &Arc<QueryRecord>> {
        self.records.iter().rev().map(|(record, _)| record)
    }
}

impl ArchiveState {
    /// Modifies the records of a database, marks it as most recently used and removes old data if
    /// necessary.
    fn change(&mut self, database: &str, most: usize, work: impl FnOnce(&mut DatabaseRecords)) {
        self.uses += 1;
        let known = self.databases.entry(database.into()).or_default();
        // The size is compared before and after, because the closure may replace or remove
        // anything.
        let before = known.size();
        known.used = self.uses;
        work(known);
        self.bytes = self.bytes - before + known.size();
        while self.bytes > most && self.make_room() {}
    }

    /// Removes the least recently used database, or the oldest record if there is only one
    /// database.
    fn make_room(&mut self) -> bool {
        let oldest = self.databases.iter().min_by_key(|(_, known)| known.used);
        let Some(oldest) = oldest.map(|(name, _)| name.clone()) else {
            return false;
        };
        // First, whole databases are removed, starting with the least recently used. A history with
        // gaps would be more confusing than no history.
        if self.databases.len() > 1 {
            self.forget(&oldest);
            return true;
        }
        let Some(only) = self.databases.get_mut(&oldest) else {
            return false;
        };
        // Only one database is left, so its oldest records are removed. Accepted queries are
        // dropped last, because users have confirmed them.
        let dropped = only.drop_oldest() || only.accepted.pop_first().is_some();
        self.bytes = only.size();
        dropped
    }

    fn forget(&mut self, database: &str) {
        if let Some(known) = self.databases.remove(database) {
            self.bytes -= known.size();
        }
    }
}

impl MemoryArchive {
    /// Creates an empty archive.
    #[must_use]
    pub fn new(options: ArchiveOptions) -> Self {
        MemoryArchive {
            options,
            kept: Mutex::default(),
        }
    }

    /// No method panics while it holds the lock, so a poisoned lock is still consistent.
    fn with<T>(&self, work: impl FnOnce(&mut ArchiveState) -> T) -> T {
        work(&mut lock(&self.kept))
    }

    fn keep(
        &self,
        what: &str,
        database: &str,
        bytes: Option<&[u8]>,
        work: impl FnOnce(&mut DatabaseRecords, Option<Arc<[u8]>>),
    ) -> Result<(), StoreError> {
        let database = name(database)?;
        self.options
            .fits(what, database, bytes.unwrap_or_default())?;
        let length = bytes.map_or(0, <[u8]>::len);
        let limit = self.options.max_memory_bytes;
        if length > limit {
            let message = format!(
                "cannot store the {what} of database {database:?}: {length} bytes, and the limit for all data in memory is {limit} (max_memory_bytes)"
            );
            return Err(StoreError::new(StoreErrorKind::Refused, message));
        }
        self.with(|kept| kept.change(database, limit, |known| work(known, bytes.map(Into::into))));
        Ok(())
    }

    fn add_accepted(&self, record: &QueryRecord) -> Result<(), StoreError> {
        let database = name(&record.database)?;
        let size = self.options.text(record)?.len();
        let (most, limit) = (self.options.max_accepted, self.options.max_memory_bytes);
        self.with(|kept| {
            kept.change(database, limit, |known| {
                let record = accepted(record.id, record.clone());
                known.accepted.insert(record.id, (record, size));
                while known.accepted.len() > most && known.accepted.pop_first().is_some() {}
            });
        });
        Ok(())
    }

    fn drop_accepted(&self, database: &str, id: u64) -> bool {
        self.with(|kept| {
            let most = self.options.max_memory_bytes;
            let is_there = |known: &DatabaseRecords| known.accepted.contains_key(&id);
            if !kept.databases.get(database).is_some_and(is_there) {
                return false;
            }
            kept.change(database, most, |known| {
                known.accepted.remove(&id);
            });
            true
        })
    }

    fn all_accepted(&self, database: &str) -> Vec<QueryRecord> {
        self.with(|kept| {
            let known = kept.databases.get(database);
            let records = known.into_iter().flat_map(|it| it.accepted.values().rev());
            records.map(|(record, _)| record.clone()).collect()
        })
    }

    fn add(&self, record: &QueryRecord) -> Result<u64, StoreError> {
        let database = name(&record.database)?;
        let size = self.options.text(record)?.len();
        let options = &self.options;
        Ok(self.with(|kept| {
            kept.last += 1;
            let id = kept.last;
            let record = Arc::new(QueryRecord {
                id,
                accepted: false,
                ..record.clone()
            });
            kept.change(database, options.max_memory_bytes, |known| {
                known.records.push_back((record, size));
                known.bytes += size;
                while (known.records.len() > options.max_records
                    || known.bytes > options.max_history_bytes)
                    && known.drop_oldest()
                {}
            });
            id
        }))
    }

    fn page(&self, database: &str, before: u64, limit: usize) -> QueryPage {
        self.with(|kept| {
            let Some(known) = kept.databases.get(database) else {
                return QueryPage::default();
            };
            let mut older = known.newest_first().filter(|record| record.id < before);
            let items = older.by_ref().take(limit);
            QueryPage {
                items: items.map(|record| (**record).clone()).collect(),
                total: known.records.len() as u64,
                // `take` above borrowed the iterator, so the next item is the first of the
                // following page.
                more: older.next().is_some(),
            }
        })
    }

    fn newest_first(&self, database: &str) -> Vec<Arc<QueryRecord>> {
        self.with(|kept| {
            let known = kept.databases.get(database);
            let records = known.map(|known| known.newest_first().cloned().collect());
            records.unwrap_or_default()
        })
    }
}

impl Archive for MemoryArchive {
    fn describe(&self) -> String {
        "memory".to_owned()
    }

    fn catalogue<'a>(
        &'a self,
        database: &'a str,
    ) -> BoxFuture<'a, Result<Option<Arc<[u8]>>, StoreError>> {
        async move {
            let database = name(database)?;
            Ok(self.with(|kept| kept.databases.get(database)?.catalogue.clone()))
        }
        .boxed()
    }

    fn keep_catalogue<'a>(
        &'a self,
        database: &'a str,
        catalogue: &'a [u8],
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        let work = |known: &mut DatabaseRecords, catalogue| known.catalogue = catalogue;
        async move { self.keep("catalogue", database, Some(catalogue), work) }.boxed()
    }

    fn values<'a>(
        &'a self,
        database: &'a str,
    ) -> BoxFuture<'a, Result<Option<Arc<[u8]>>, StoreError>> {
        async move {
            let database = name(database)?;
            Ok(self.with(|kept| kept.databases.get(database)?.values.clone()))
        }
        .boxed()
    }

    fn keep_values<'a>(
        &'a self,
        database: &'a str,
        values: Option<&'a [u8]>,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        let work = |known: &mut DatabaseRecords, values| known.values = values;
        async move { self.keep("values", database, values, work) }.boxed()
    }

    fn record<'a>(&'a self, record: &'a QueryRecord) -> BoxFuture<'a, Result<u64, StoreError>> {
        async move { self.add(record) }.boxed()
    }

    fn history<'a>(
        &'a self,
        database: &'a str,
        before: Option<u64>,
        limit: usize,
    ) -> BoxFuture<'a, Result<QueryPage, StoreError>> {
        async move { Ok(self.page(name(database)?, before.unwrap_or(u64::MAX), limit)) }.boxed()
    }

    fn search<'a>(
        &'a self,
        database: &'a str,
        words: &'a str,
        limit: usize,
    ) -> BoxFuture<'a, Result<QueryPage, StoreError>> {
        async move {
            let records = self.newest_first(name(database)?);
            among(records, words, limit).await
        }
        .boxed()
    }

    fn accept<'a>(&'a self, record: &'a QueryRecord) -> BoxFuture<'a, Result<(), StoreError>> {
        async move { self.add_accepted(record) }.boxed()
    }

    fn unaccept<'a>(
        &'a self,
        database: &'a str,
        id: u64,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        async move { Ok(self.drop_accepted(name(database)?, id)) }.boxed()
    }

    fn accepted<'a>(
        &'a self,
        database: &'a str,
    ) -> BoxFuture<'a, Result<Vec<QueryRecord>, StoreError>> {
        async move { Ok(self.all_accepted(name(database)?)) }.boxed()
    }

    fn forget<'a>(&'a self, database: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        async move {
            let database = name(database)?;
            self.with(|kept| kept.forget(database));
            Ok(())
        }
        .boxed()
    }
}
