//! Redis stores: for one server, a master found by sentinels, or a cluster.
//!
//! Values are plain string keys with JSON. Other programs write them, often with an expiration
//! time, so a key may disappear at any moment. Changes are reported by client-side caching
//! (`CLIENT TRACKING … BCAST`), or detected by polling ([`poll`]) if the server does not support
//! it.
//!
//! A [`connection_manager`] task connects and reconnects. No call takes longer than the timeouts in
//! [`StoreOptions`], and calls fail immediately while Redis is unavailable.

mod archive;
mod batches;
mod budgets;
mod client;
mod connection_manager;
mod connections;
mod error;
mod history;
mod journal;
mod layout;
mod lease;
mod link;
mod pack;
mod poll;
mod pubsub;
mod rates;
mod read;
mod runs;
mod script;
mod sessions;
mod settings;
mod slot;
mod topology;

use std::fmt;
use std::sync::Arc;

use futures_util::FutureExt;
use quillet_core::BoxFuture;
use quillet_core::archive::Archive;
use quillet_core::batch::Batches;
use quillet_core::budget::Budgets;
use quillet_core::history::HistoryStore;
use quillet_core::journal::Journal;
use quillet_core::rates::Rates;
use quillet_core::runs::Runs;
use quillet_core::session::Sessions;
use quillet_core::store::{
    Changes, EntryKey, EntryKind, Health, Store, StoreChange, StoreEntry, StoreError,
};
use redis::Value;
use tokio::time::timeout;

pub use archive::RedisArchive;
pub use batches::RedisBatches;
pub use journal::RedisJournal;
pub use layout::DEFAULT_PREFIX;
pub use runs::RedisRuns;
pub use sessions::RedisSessions;

use crate::address::RedisAddress;
use crate::budgets::SharedBudgets;
use crate::changes::ChangeBus;
use crate::rates::SharedRates;
use crate::{ArchiveOptions, JournalOptions, RunOptions, SessionOptions, StoreOptions};
use budgets::RedisBudgets;
use client::RedisClient;
use connection_manager::ConnectionState;
use connections::KeyedCommand;
use history::RedisHistory;
use rates::RedisRates;
use read::StoredText;
use settings::RedisSettings;

/// Same as [`RedisStore::open`].
pub(crate) fn store(
    address: &RedisAddress,
    options: &StoreOptions,
) -> Result<Arc<dyn Store>, StoreError> {
    Ok(Arc::new(RedisStore::open(address, options)?))
}

/// Same as [`RedisSessions::open`].
pub(crate) fn sessions(
    address: &RedisAddress,
    store: &StoreOptions,
    options: &SessionOptions,
) -> Result<Arc<dyn Sessions>, StoreError> {
    let sessions = RedisSessions::open(address, store, options.clone())?;
    Ok(Arc::new(sessions))
}

/// Same as [`RedisArchive::open`].
pub(crate) fn archive(
    address: &RedisAddress,
    store: &StoreOptions,
    options: &ArchiveOptions,
) -> Result<Arc<dyn Archive>, StoreError> {
    let archive = RedisArchive::open(address, store, options.clone())?;
    Ok(Arc::new(archive))
}

/// Same as [`RedisBatches::open`].
pub(crate) fn batches(
    address: &RedisAddress,
    store: &StoreOptions,
) -> Result<Arc<dyn Batches>, StoreError> {
    Ok(Arc::new(RedisBatches::open(address, store)?))
}

/// Same as [`RedisRuns::open`].
pub(crate) fn runs(
    address: &RedisAddress,
    store: &StoreOptions,
    options: &RunOptions,
) -> Result<Arc<dyn Runs>, StoreError> {
    Ok(Arc::new(RedisRuns::open(address, store, options.clone())?))
}

/// Same as [`RedisJournal::open`].
pub(crate) fn journal(
    address: &RedisAddress,
    store: &StoreOptions,
    options: &JournalOptions,
) -> Result<Arc<dyn Journal>, StoreError> {
    let journal = RedisJournal::open(address, store, options.clone())?;
    Ok(Arc::new(journal))
}

/// Like [`RedisBudgets::new`], but with `alone` local usage replaces an unavailable Redis.
pub(crate) fn budgets(
    address: &RedisAddress,
    store: &StoreOptions,
    alone: bool,
) -> Result<Arc<dyn Budgets>, StoreError> {
    let books = RedisBudgets::new(address, store)?;
    Ok(if alone {
        Arc::new(SharedBudgets::new(books))
    } else {
        Arc::new(books)
    })
}

/// Like [`RedisRates::new`], but local buckets replace an unavailable Redis.
pub(crate) fn rates(
    address: &RedisAddress,
    store: &StoreOptions,
) -> Result<Arc<dyn Rates>, StoreError> {
    Ok(Arc::new(SharedRates::new(RedisRates::new(address, store)?)))
}

/// Store of definitions in Redis.
pub struct RedisStore {
    client: Arc<RedisClient>,
    hub: ChangeBus,
    history: RedisHistory,
}

impl fmt::Debug for RedisStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RedisStore({})", self.client.settings.address)
    }
}

impl RedisStore {
    /// Creates the store and starts connecting without waiting for Redis. Call this inside a Tokio
    /// runtime.
    ///
    /// # Errors
    /// `Configuration` for a missing or invalid certificate file.
    pub fn open(address: &RedisAddress, options: &StoreOptions) -> Result<Self, StoreError> {
        let settings = RedisSettings::new(address, options)?;
        let hub = ChangeBus::new();
        let client = Arc::new(RedisClient::open(settings, hub.clone()));
        let history = RedisHistory::new(client.clone(), hub.clone());
        Ok(RedisStore {
            client,
            hub,
            history,
        })
    }

    async fn texts(
        &self,
        kind: EntryKind,
        keys: &[EntryKey],
    ) -> Result<Vec<Option<Arc<str>>>, StoreError> {
        let ring = self.client.connections().await?;
        let found = read::values(&self.client.settings, &ring, kind, keys).await?;
        Ok(found.into_iter().map(text_of).collect())
    }

    /// Runs a command that changes a key, and reports the change if Redis sends no notification of
    /// it.
    async fn change(
        &self,
        kind: EntryKind,
        key: &EntryKey,
        request: KeyedCommand,
    ) -> Result<Value, StoreError> {
        let reply = self.client.ask(request).await?;
        if !self
            .client
            .connections()
            .await
            .is_ok_and(|ring| ring.tracked())
        {
            self.hub.send(StoreChange::Entry(kind, key.clone()));
        }
        Ok(reply)
    }

    async fn write(&self, kind: EntryKind, key: &EntryKey, text: &str) -> Result<(), StoreError> {
        let name = self.client.settings.layout.name(kind, key);
        self.client.settings.fits(&name, text.len())?;
        let mut command = read::with_name("SET", &name);
        command.arg(text);
        self.change(kind, key, KeyedCommand { name, command })
            .await?;
        Ok(())
    }

    async fn delete(&self, kind: EntryKind, key: &EntryKey) -> Result<bool, StoreError> {
        let name = self.client.settings.layout.name(kind, key);
        let command = read::with_name("DEL", &name);
        let reply = self
            .change(kind, key, KeyedCommand { name, command })
            .await?;
        Ok(matches!(reply, Value::Int(1)))
    }
}

/// Returns the text of a shared variable. An invalid value counts as missing, and the reason is
/// logged; loading it as an entry returns the reason.
fn text_of(found: StoredText) -> Option<Arc<str>> {
    match found {
        StoredText::Text(text) => Some(text),
        StoredText::Nothing => None,
        StoredText::Broken(problem) => {
            tracing::warn!(%problem, "value ignored");
            None
        }
    }
}

impl Store for RedisStore {
    fn describe(&self) -> String {
        self.client.settings.address.to_string()
    }

    fn load(&self, kind: EntryKind) -> BoxFuture<'_, Result<Vec<StoreEntry>, StoreError>> {
        async move {
            read::entries(
                &self.client.settings,
                &*self.client.connections().await?,
                kind,
            )
            .await
        }
        .boxed()
    }

    fn load_all<'a>(
        &'a self,
        kinds: &'a [EntryKind],
    ) -> BoxFuture<'a, Result<Vec<Vec<StoreEntry>>, StoreError>> {
        async move {
            // There may be very many shared variables, so they are read separately.
            let (settings, ring) = (&self.client.settings, self.client.connections().await?);
            let definitions: Vec<EntryKind> = kinds
                .iter()
                .copied()
                .filter(|kind| *kind != EntryKind::Environ)
                .collect();
            let mut found = read::definitions(settings, &ring, &definitions)
                .await?
                .into_iter();
            let mut all = Vec::with_capacity(kinds.len());
            for kind in kinds {
                all.push(match kind {
                    EntryKind::Environ => read::entries(settings, &ring, *kind).await?,
                    _ => found.next().unwrap_or_default(),
                });
            }
            Ok(all)
        }
        .boxed()
    }

    fn keys(&self, kind: EntryKind) -> BoxFuture<'_, Result<Vec<EntryKey>, StoreError>> {
        async move {
            read::keys(
                &self.client.settings,
                &*self.client.connections().await?,
                kind,
            )
            .await
        }
        .boxed()
    }

    fn get<'a>(
        &'a self,
        kind: EntryKind,
        keys: &'a [EntryKey],
    ) -> BoxFuture<'a, Result<Vec<Option<Arc<str>>>, StoreError>> {
        self.texts(kind, keys).boxed()
    }

    fn entries<'a>(
        &'a self,
        kind: EntryKind,
        keys: &'a [EntryKey],
    ) -> BoxFuture<'a, Result<Vec<Option<StoreEntry>>, StoreError>> {
        async move {
            let ring = self.client.connections().await?;
            read::entries_at(&self.client.settings, &ring, kind, keys).await
        }
        .boxed()
    }

    /// Redis sends the notification of a change before it replies to the client that made the
    /// change. A reply to a later command therefore arrives after the notification. Without
    /// notifications, everything may have changed.
    fn sync(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        async move {
            let ring = self.client.connections().await?;
            if ring.tracked() {
                let patience = self.client.settings.response_timeout;
                let late = |_| error::unavailable(format!("{} does not answer", self.describe()));
                timeout(patience, ring.sync()).await.map_err(late)?
            } else {
                self.hub.send(StoreChange::All);
                Ok(())
            }
        }
        .boxed()
    }

    fn put<'a>(
        &'a self,
        kind: EntryKind,
        key: &'a EntryKey,
        text: &'a str,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        self.write(kind, key, text).boxed()
    }

    fn remove<'a>(
        &'a self,
        kind: EntryKind,
        key: &'a EntryKey,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        self.delete(kind, key).boxed()
    }

    fn changes(&self) -> Changes {
        self.hub.stream()
    }

    fn health(&self) -> Health {
        let reason = match &*self.client.state.borrow() {
            ConnectionState::Up(_) => return Health::Ready,
            ConnectionState::Connecting => {
                format!("connecting to {}", self.client.settings.address)
            }
            ConnectionState::Away(error) => error.message.clone(),
        };
        Health::Away { reason }
    }

    fn history(&self) -> Option<&dyn HistoryStore> {
        Some(&self.history)
    }
}
