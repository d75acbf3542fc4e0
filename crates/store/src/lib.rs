//! Stores for prompts, shared variables and tools, sessions, database archives, journals of runs,
//! and state that replicas share about runs and rates: in memory, in a watched folder, in SQLite or
//! in Redis. [`open`] creates a store of definitions for an address; [`open_sessions`],
//! [`open_journal`], [`open_runs`], [`open_rates`] and [`open_archive`] create the others.
//!
//! Only this crate accesses storage. It does not interpret the stored data: it returns JSON texts
//! by typed keys and reports changes.
//!
//! ```
//! use quillet_core::store::{EntryKey, EntryKind};
//! use quillet_store::{StoreOptions, open};
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! let store = open("memory:", &StoreOptions::default()).await?;
//! let key = EntryKey::new("greet:hello");
//! store.put(EntryKind::Prompt, &key, r#"{"prompt": "Hello"}"#).await?;
//! assert_eq!(store.keys(EntryKind::Prompt).await?, [key]);
//! # Ok::<(), quillet_core::store::StoreError>(())
//! # }).unwrap();
//! ```

// Code that only a disabled feature uses is not dead code.
#![cfg_attr(not(feature = "redis"), allow(dead_code))]

pub mod address;
mod archive;
mod batches;
mod budgets;
mod changes;
mod demo;
mod folder;
mod history;
mod ids;
mod journal;
mod knowledge;
mod memory;
mod open;
mod options;
mod rates;
#[cfg(feature = "redis")]
mod redis;
#[cfg(not(feature = "redis"))]
#[path = "redis_disabled.rs"]
mod redis;
mod runs;
mod sessions;
mod sqlite;
mod tokenize;
mod traces;

pub use address::Address;
pub use archive::{ArchiveOptions, MemoryArchive, SqliteArchive};
pub use batches::SqliteBatches;
pub use budgets::{MemoryBudgets, SqliteBudgets};
pub use folder::{FolderStore, PROMPT_FILE_ENDINGS, TEMPLATE_ENDINGS, entry_of_file, folders};
pub use ids::MAX_ID_BYTES;
pub use journal::{JournalOptions, SqliteJournal};
pub use knowledge::{ImportReport, KnowledgeOptions, SqliteKnowledge};
pub use memory::MemoryStore;
pub use open::{
    open, open_archive, open_batches, open_budgets, open_journal, open_knowledge, open_rates,
    open_runs, open_sessions, open_traces,
};
pub use options::StoreOptions;
pub use rates::MemoryRates;
#[cfg(feature = "redis")]
pub use redis::{
    DEFAULT_PREFIX, RedisArchive, RedisBatches, RedisJournal, RedisRuns, RedisSessions, RedisStore,
};
pub use runs::{MemoryRuns, RunOptions};
pub use sessions::{MemorySessions, SessionOptions, SqliteSessions};
pub use sqlite::{ForkGuard, SqliteStore};
pub use traces::{TraceOptions, TraceStore};
