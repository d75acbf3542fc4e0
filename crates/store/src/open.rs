//! Opens stores by address.

use std::path::Path;
use std::sync::Arc;

use quillet_core::archive::Archive;
use quillet_core::batch::Batches;
use quillet_core::budget::Budgets;
use quillet_core::journal::Journal;
use quillet_core::knowledge::Embedder;
use quillet_core::rates::Rates;
use quillet_core::runs::Runs;
use quillet_core::session::Sessions;
use quillet_core::store::{Store, StoreError};

use crate::archive::{ArchiveOptions, MemoryArchive, SqliteArchive};
use crate::batches::SqliteBatches;
use crate::budgets::{MemoryBudgets, SharedBudgets, SqliteBudgets};
use crate::folder::FolderStore;
use crate::journal::{JournalOptions, SqliteJournal};
use crate::knowledge::{KnowledgeOptions, SqliteKnowledge};
use crate::memory::MemoryStore;
use crate::rates::MemoryRates;
use crate::runs::{MemoryRuns, RunOptions};
use crate::sessions::{MemorySessions, SessionOptions, SqliteSessions};
use crate::sqlite::SqliteStore;
use crate::traces::{TraceOptions, TraceStore};
use crate::{Address, StoreOptions, demo, redis};

/// Opens the store of definitions at an address such as `memory:demo`, `dir:prompts` or
/// `redis://127.0.0.1:6379`; see [`Address`] for all formats.
///
/// An unavailable Redis is not an error: the store opens, its [`health`](Store::health) contains
/// the reason, and the store connects as soon as possible. Call this inside a Tokio runtime, which
/// runs the watchers.
///
/// # Errors
/// The address is invalid, the folder does not exist, or a certificate file is invalid (all
/// `StoreErrorKind::Configuration`).
pub async fn open(address: &str, options: &StoreOptions) -> Result<Arc<dyn Store>, StoreError> {
    match address.parse::<Address>()? {
        Address::Memory => Ok(Arc::new(MemoryStore::new().with(options))),
        Address::Demo => Ok(Arc::new(demo::store().with(options))),
        Address::Folder(path) => Ok(Arc::new(FolderStore::open(&path, options).await?)),
        Address::Sqlite(path) => Ok(Arc::new(SqliteStore::open(&path, options).await?)),
        Address::Redis(address) => redis::store(&address, options),
    }
}

/// Opens the sessions at an address. With a folder address, sessions are in memory.
///
/// # Errors
/// Same as [`open`].
pub async fn open_sessions(
    address: &str,
    store: &StoreOptions,
    options: &SessionOptions,
) -> Result<Arc<dyn Sessions>, StoreError> {
    match address.parse::<Address>()? {
        Address::Memory | Address::Demo | Address::Folder(_) => {
            Ok(Arc::new(MemorySessions::new(options.clone())))
        }
        Address::Sqlite(path) => {
            let sessions = SqliteSessions::open(&path, options.clone());
            Ok(Arc::new(sessions.await?))
        }
        Address::Redis(address) => redis::sessions(&address, store, options),
    }
}

/// Opens the database archive at an address. With a folder address, the archive is in memory.
///
/// # Errors
/// Same as [`open`].
pub async fn open_archive(
    address: &str,
    store: &StoreOptions,
    options: &ArchiveOptions,
) -> Result<Arc<dyn Archive>, StoreError> {
    match address.parse::<Address>()? {
        Address::Memory | Address::Demo | Address::Folder(_) => {
            Ok(Arc::new(MemoryArchive::new(options.clone())))
        }
        Address::Sqlite(path) => {
            let archive = SqliteArchive::open(&path, options.clone());
            Ok(Arc::new(archive.await?))
        }
        Address::Redis(address) => redis::archive(&address, store, options),
    }
}

/// Opens the registry of runs at an address. Only a registry in Redis is shared between replicas;
/// with any other address, the registry is local to the process.
///
/// # Errors
/// Same as [`open`].
pub async fn open_runs(
    address: &str,
    store: &StoreOptions,
    options: &RunOptions,
) -> Result<Arc<dyn Runs>, StoreError> {
    match address.parse::<Address>()? {
        Address::Redis(address) => redis::runs(&address, store, options),
        _ => Ok(Arc::new(MemoryRuns::new(options.clone()))),
    }
}

/// Opens the journal of runs at an address. With a memory or folder address, the journal is lost
/// when the process ends.
///
/// # Errors
/// Same as [`open`].
///
/// # Examples
///
/// ```
/// use quillet_core::journal::RunFilter;
/// use quillet_store::{JournalOptions, StoreOptions, open_journal};
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let options = JournalOptions::default();
/// let journal = open_journal("memory:", &StoreOptions::default(), &options).await?;
/// let filter = RunFilter { most: 10, ..RunFilter::default() };
/// assert!(journal.list(&filter).await?.is_empty());
/// # Ok::<(), quillet_core::store::StoreError>(())
/// # }).unwrap();
/// ```
pub async fn open_journal(
    address: &str,
    store: &StoreOptions,
    options: &JournalOptions,
) -> Result<Arc<dyn Journal>, StoreError> {
    match address.parse::<Address>()? {
        Address::Memory | Address::Demo | Address::Folder(_) => {
            let memory = Path::new(":memory:");
            Ok(Arc::new(
                SqliteJournal::open(memory, options.clone()).await?,
            ))
        }
        Address::Sqlite(path) => Ok(Arc::new(SqliteJournal::open(&path, options.clone()).await?)),
        Address::Redis(address) => redis::journal(&address, store, options),
    }
}

/// Opens the rate limit buckets at an address. Only buckets in Redis are shared between replicas;
/// with any other address, the buckets are local to the process. The connection is opened on the
/// first request.
///
/// # Errors
/// Same as [`open`].
pub fn open_rates(address: &str, store: &StoreOptions) -> Result<Arc<dyn Rates>, StoreError> {
    match address.parse::<Address>()? {
        Address::Redis(address) => redis::rates(&address, store),
        _ => Ok(Arc::new(MemoryRates::new())),
    }
}

/// Opens the store of budget usage at an address. With a folder address, usage is in memory. If
/// `alone` is set, the process falls back to local usage while a shared store is unavailable;
/// otherwise an unavailable store is an error. The store is opened on the first call that a budget
/// limits.
///
/// # Errors
/// Same as [`open`].
pub fn open_budgets(
    address: &str,
    store: &StoreOptions,
    alone: bool,
) -> Result<Arc<dyn Budgets>, StoreError> {
    match address.parse::<Address>()? {
        Address::Memory | Address::Demo | Address::Folder(_) => Ok(Arc::new(MemoryBudgets::new())),
        Address::Sqlite(path) if alone => {
            Ok(Arc::new(SharedBudgets::new(SqliteBudgets::new(&path))))
        }
        Address::Sqlite(path) => Ok(Arc::new(SqliteBudgets::new(&path))),
        Address::Redis(address) => redis::budgets(&address, store, alone),
    }
}

/// Opens the store of files and batches at an address. With a folder address, the store is in
/// memory.
///
/// # Errors
/// Same as [`open`].
pub async fn open_batches(
    address: &str,
    store: &StoreOptions,
) -> Result<Arc<dyn Batches>, StoreError> {
    match address.parse::<Address>()? {
        Address::Memory | Address::Demo | Address::Folder(_) => {
            let memory = SqliteBatches::open(Path::new(":memory:"));
            Ok(Arc::new(memory.await?))
        }
        Address::Sqlite(path) => Ok(Arc::new(SqliteBatches::open(&path).await?)),
        Address::Redis(address) => redis::batches(&address, store),
    }
}

/// Opens the traces in an SQLite file, which may also contain other stores.
///
/// # Errors
/// Same as [`TraceStore::open`].
pub async fn open_traces(path: &Path, options: TraceOptions) -> Result<TraceStore, StoreError> {
    TraceStore::open(path, options).await
}

/// Opens the documents in an SQLite file, which may also contain other stores. If an embedder is
/// given, searches also find documents by meaning.
///
/// # Errors
/// Same as [`SqliteKnowledge::open`].
///
/// # Examples
///
/// ```
/// use std::path::Path;
///
/// use quillet_core::knowledge::{DocumentInput, Knowledge};
/// use quillet_store::{KnowledgeOptions, open_knowledge};
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let path = Path::new(":memory:");
/// let knowledge = open_knowledge(path, None, KnowledgeOptions::default()).await?;
/// let document = DocumentInput {
///     collection: "manual".into(),
///     name: "labels.md".into(),
///     title: "Labels".into(),
///     url: None,
///     summary: None,
///     text: "A label points at a version.".into(),
/// };
/// knowledge.put(&document).await?;
/// let found = knowledge.search("which version", &["manual".to_owned()], 5).await?;
/// assert_eq!(found[0].title, "Labels");
/// # Ok::<(), quillet_core::store::StoreError>(())
/// # }).unwrap();
/// ```
pub async fn open_knowledge(
    path: &Path,
    embedder: Option<Arc<dyn Embedder>>,
    options: KnowledgeOptions,
) -> Result<SqliteKnowledge, StoreError> {
    SqliteKnowledge::open(path, embedder, options).await
}
