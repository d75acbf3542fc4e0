//! Where prompts, shared variables and tools rest: in memory, in a watched
//! folder, or in Redis. [`open`] makes a store from an address.
//!
//! This crate alone knows how bytes rest. It does not know what they mean: it
//! hands out JSON texts under typed keys and says when one has changed.

pub mod address;
mod changes;
mod demo;
mod folder;
mod memory;
mod options;
mod redis;

use std::sync::Arc;

use quillet_core::store::{Store, StoreError};

pub use address::Address;
pub use folder::FolderStore;
pub use memory::MemoryStore;
pub use options::StoreOptions;
pub use redis::{DEFAULT_PREFIX, RedisStore};

/// Opens the store at an address such as `memory:demo`, `dir:prompts` or
/// `redis://127.0.0.1:6379`; see [`Address`] for all forms.
///
/// A Redis that does not answer is no error here: the store opens, its
/// [`health`](Store::health) says why it is away, and it connects by itself as
/// soon as it can. Must be called inside a Tokio runtime, which runs the watchers.
///
/// # Errors
/// The address cannot be read, the folder is not there, or a certificate file
/// is broken (all `StoreErrorKind::Configuration`).
pub async fn open(address: &str, options: &StoreOptions) -> Result<Arc<dyn Store>, StoreError> {
    match address.parse::<Address>()? {
        Address::Memory => Ok(Arc::new(MemoryStore::new())),
        Address::Demo => Ok(Arc::new(demo::store())),
        Address::Folder(path) => Ok(Arc::new(FolderStore::open(&path, options).await?)),
        Address::Redis(redis) => Ok(Arc::new(RedisStore::open(&redis, options)?)),
    }
}
