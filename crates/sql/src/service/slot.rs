//! An open connection: its database and its cached catalogue.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use quillet_core::archive::Archive;
use serde::{Deserialize, Serialize};
use tokio::task::{JoinError, spawn_blocking};
use tracing::warn;

use super::definition::ConnectionDefinition;
use super::parts::ServiceParts;
use crate::bounded::BoundedDatabase;
use crate::chain::PreparedCatalogue;
use crate::database::ProgressFn;
use crate::rank::Glossary;
use crate::values::ValueSamples;
use crate::{
    Catalogue, ConnectionUrl, Database, DatabaseError, DatabaseErrorKind, SqlError, connect, tunnel,
};
use quillet_core::lock::lock;

/// State of one open connection.
#[derive(Debug)]
pub(super) struct ConnectionSlot {
    /// Name of the connection.
    pub(super) name: String,
    /// Stored definition. If it changes, a new slot replaces this one.
    pub(super) text: Arc<str>,
    /// Parsed definition.
    pub(super) definition: ConnectionDefinition,
    /// Database of the connection.
    pub(super) database: Arc<dyn Database>,
    /// URL without secrets, which identifies the database of a stored catalogue.
    shown: String,
    kept: Mutex<Option<CachedCatalogue>>,
    /// Held while the catalogue is compared or read, so that only one task does so.
    reader: tokio::sync::Mutex<()>,
    /// Whether a background task is comparing the catalogue.
    is_compared: AtomicBool,
    /// Whether column values are sampled.
    pub(super) has_values: bool,
    /// Latest values, sampled or loaded from the archive.
    sampled: Mutex<Option<Arc<ValueSamples>>>,
    /// Held while values are sampled, so that only one task does so.
    pub(super) sampler: Arc<tokio::sync::Mutex<()>>,
}

#[derive(Clone, Debug)]
struct CachedCatalogue {
    prepared: Arc<PreparedCatalogue>,
    /// Time of the last fingerprint comparison; `None` if the catalogue came from the archive.
    compared: Option<Instant>,
}

/// A catalogue in the archive.
#[derive(Serialize, Deserialize)]
struct ArchivedCatalogue<C> {
    address: String,
    catalogue: C,
}

/// Sampled values in the archive.
#[derive(Serialize, Deserialize)]
struct RestingValues<S> {
    address: String,
    sampled: S,
}

impl ConnectionSlot {
    /// Opens a connection from its definition.
    ///
    /// # Errors
    /// Fails if the definition or its URL is invalid.
    pub(super) fn open(
        name: &str,
        text: Arc<str>,
        parts: &ServiceParts,
    ) -> Result<ConnectionSlot, SqlError> {
        let definition = ConnectionDefinition::read(name, &text)?;
        let url: ConnectionUrl = definition.url.parse()?;
        let has_values = parts
            .config
            .values
            .sampling
            .is_enabled_for(definition.values);
        Ok(ConnectionSlot {
            name: name.to_owned(),
            database: open(&url, &definition, parts)?,
            shown: url.to_string(),
            definition,
            text,
            kept: Mutex::default(),
            reader: tokio::sync::Mutex::default(),
            // A flag instead of the mutex, because queries must see that a comparison is in
            // progress without waiting for it.
            is_compared: AtomicBool::new(false),
            has_values,
            sampled: Mutex::default(),
            sampler: Arc::default(),
        })
    }

    /// Returns the cached or archived catalogue, regardless of its age. This is enough for queries,
    /// because the database itself checks names and privileges.
    pub(super) async fn cached_catalogue(
        &self,
        parts: &ServiceParts,
    ) -> Option<Arc<PreparedCatalogue>> {
        if let Some(known) = self.cached() {
            return Some(known.prepared);
        }
        // If another task is already reading the catalogue, the query does not wait.
        let _reader = self.reader.try_lock().ok()?;
        let resting = self.load_catalogue(parts).await;
        lock(&self.kept).clone_from(&resting);
        Some(resting?.prepared)
    }

    /// Returns whether the catalogue was not compared for this long.
    pub(super) fn is_older(&self, age: Duration) -> bool {
        let compared = self.cached().and_then(|known| known.compared);
        compared.is_none_or(|at| at.elapsed() >= age)
    }

    /// Returns whether the caller may start a background comparison. The caller must report when it
    /// ends.
    pub(super) fn try_begin_comparison(&self) -> bool {
        !self.is_compared.swap(true, Ordering::AcqRel)
    }

    pub(super) fn end_comparison(&self) {
        self.is_compared.store(false, Ordering::Release);
    }

    fn cached(&self) -> Option<CachedCatalogue> {
        lock(&self.kept).clone()
    }

    fn cache_catalogue(&self, kept: &CachedCatalogue) -> Arc<PreparedCatalogue> {
        *lock(&self.kept) = Some(kept.clone());
        kept.prepared.clone()
    }

    /// Returns the prepared catalogue. The cached one is returned while it is younger than `age` or
    /// its fingerprint is current, and also if the database is unreachable.
    ///
    /// # Errors
    /// Fails if the database is unavailable and no catalogue is stored, or if it rejects the
    /// credentials.
    pub(super) async fn prepared(
        &self,
        parts: &ServiceParts,
        age: Duration,
        progress: ProgressFn<'_>,
    ) -> Result<Arc<PreparedCatalogue>, SqlError> {
        let young = |known: &CachedCatalogue| known.compared.is_some_and(|at| at.elapsed() < age);
        if let Some(known) = self.cached().filter(young) {
            return Ok(known.prepared);
        }
        let _reader = self.reader.lock().await;
        // Another task may have read or compared the catalogue while this one waited.
        let known = match self.cached() {
            Some(known) => Some(known),
            None => self.load_catalogue(parts).await,
        };
        let Some(mut known) = known else {
            return Ok(self.cache_catalogue(&self.read(parts, progress).await?));
        };
        // The age is checked again, because the previous holder of the lock may just have compared
        // the catalogue.
        if young(&known) {
            return Ok(known.prepared);
        }
        match self.database.fingerprint().await {
            Ok(now) if now != known.prepared.catalogue.fingerprint => {
                Ok(self.cache_catalogue(&self.read(parts, progress).await?))
            }
            Ok(_) => {
                known.compared = Some(Instant::now());
                Ok(self.cache_catalogue(&known))
            }
            Err(error) if is_unavailable(&error) => {
                warn!(database = %self.name, %error, "cannot compare the catalogue; using the cached one");
                Ok(self.cache_catalogue(&known))
            }
            // If the role has lost access to the database, it must not see the cached catalogue.
            Err(error) => {
                *lock(&self.kept) = None;
                Err(error.into())
            }
        }
    }

    /// Reads the catalogue again, regardless of the stored one.
    ///
    /// # Errors
    /// Fails if the database is unavailable.
    pub(super) async fn refreshed(
        &self,
        parts: &ServiceParts,
        progress: ProgressFn<'_>,
    ) -> Result<Arc<PreparedCatalogue>, SqlError> {
        let _reader = self.reader.lock().await;
        Ok(self.cache_catalogue(&self.read(parts, progress).await?))
    }

    async fn read(
        &self,
        parts: &ServiceParts,
        progress: ProgressFn<'_>,
    ) -> Result<CachedCatalogue, SqlError> {
        let limit = parts.config.connect.catalogue_timeout;
        let catalogue = tokio::time::timeout(limit, self.database.catalogue(progress))
            .await
            .map_err(|_| {
                DatabaseError::new(
                    DatabaseErrorKind::Timeout,
                    format!(
                        "timeout: reading the catalogue of {} took longer than {} s (sql.catalogue_ms)",
                        self.database.describe(),
                        limit.as_secs()
                    ),
                )
            })??;
        self.store_catalogue(parts.archive.as_ref(), &catalogue)
            .await;
        Ok(CachedCatalogue {
            prepared: self.prepare(Arc::new(catalogue), parts).await?,
            compared: Some(Instant::now()),
        })
    }

    /// Prepares a catalogue on a blocking thread, because this can take a second.
    async fn prepare(
        &self,
        catalogue: Arc<Catalogue>,
        parts: &ServiceParts,
    ) -> Result<Arc<PreparedCatalogue>, SqlError> {
        let mut entries = parts.config.glossary.entries.clone();
        entries.extend(self.definition.glossary.iter().cloned());
        let tokens = parts.tokens.clone();
        let sampled = self.sampled(parts).await;
        // Tokenizing 10,000 tables takes about a second and would block the async threads.
        let work = move || {
            let prepared =
                PreparedCatalogue::new(catalogue, &Glossary { entries }, tokens.as_ref());
            if let Some(sampled) = sampled {
                prepared.set_values(&sampled);
            }
            prepared
        };
        Ok(Arc::new(
            spawn_blocking(work)
                .await
                .map_err(|error| task_error(&error))?,
        ))
    }

    async fn load_catalogue(&self, parts: &ServiceParts) -> Option<CachedCatalogue> {
        let found = parts.archive.catalogue(&self.name).await;
        let bytes = match found {
            Ok(bytes) => bytes?,
            Err(error) => {
                warn!(database = %self.name, %error, "cannot load the stored catalogue");
                return None;
            }
        };
        let read =
            spawn_blocking(move || serde_json::from_slice::<ArchivedCatalogue<Catalogue>>(&bytes));
        let resting = read.await.ok()?.ok()?;
        // An archive may be shared or restored, so a catalogue from another address is not used.
        if resting.address != self.shown || resting.catalogue.dialect != self.database.dialect() {
            return None;
        }
        let prepared = self
            .prepare(Arc::new(resting.catalogue), parts)
            .await
            .ok()?;
        Some(CachedCatalogue {
            prepared,
            compared: None,
        })
    }

    /// Returns the cached or archived values, if sampling is enabled.
    pub(super) async fn sampled(&self, parts: &ServiceParts) -> Option<Arc<ValueSamples>> {
        if !self.has_values {
            return None;
        }
        let known = lock(&self.sampled).clone();
        match known {
            Some(known) => Some(known),
            None => self.load_values(parts).await,
        }
    }

    /// Loads values from the archive, where another replica may have stored them.
    pub(super) async fn load_values(&self, parts: &ServiceParts) -> Option<Arc<ValueSamples>> {
        let bytes = match parts.archive.values(&self.name).await {
            Ok(bytes) => bytes?,
            Err(error) => {
                warn!(database = %self.name, %error, "cannot load the stored values");
                return None;
            }
        };
        let resting: RestingValues<ValueSamples> = serde_json::from_slice(&bytes).ok()?;
        let sampled = (resting.address == self.shown).then(|| Arc::new(resting.sampled))?;
        *lock(&self.sampled) = Some(sampled.clone());
        Some(sampled)
    }

    /// Caches and stores newly sampled values. A failure to store them is ignored, because they are
    /// sampled again after a restart.
    pub(super) async fn store_values(&self, sampled: ValueSamples, parts: &ServiceParts) {
        let sampled = Arc::new(sampled);
        *lock(&self.sampled) = Some(sampled.clone());
        if let Some(known) = self.cached() {
            known.prepared.set_values(&sampled);
        }
        let resting = RestingValues {
            address: self.shown.clone(),
            sampled: sampled.as_ref(),
        };
        let Ok(bytes) = serde_json::to_vec(&resting) else {
            return;
        };
        if let Err(error) = parts.archive.keep_values(&self.name, Some(&bytes)).await {
            warn!(database = %self.name, %error, "cannot store the sampled values");
        }
    }

    /// Stores a catalogue. A failure is ignored, because the catalogue is read again after a
    /// restart.
    async fn store_catalogue(&self, archive: &dyn Archive, catalogue: &Catalogue) {
        let resting = ArchivedCatalogue {
            address: self.shown.clone(),
            catalogue,
        };
        let Ok(bytes) = serde_json::to_vec(&resting) else {
            return;
        };
        if let Err(error) = archive.keep_catalogue(&self.name, &bytes).await {
            warn!(database = %self.name, %error, "cannot store the catalogue");
        }
    }
}

/// Opens the database of a definition.
pub(super) fn open(
    url: &ConnectionUrl,
    definition: &ConnectionDefinition,
    parts: &ServiceParts,
) -> Result<Arc<dyn Database>, SqlError> {
    let mut options = parts.config.connect.clone();
    // The settings can disable TLS for all connections, and a definition can disable it for one
    // connection. Neither can enable TLS if the other disables it.
    options.ssl_disabled |= definition.ssl_disabled;
    options.functions.clone_from(&parts.config.functions);
    let ssh = definition.ssh_config.as_ref();
    let database = match ssh.filter(|ssh| ssh.enabled) {
        Some(ssh) => tunnel::open_through_ssh(url, ssh, &options)?,
        None => connect(url, &options)?,
    };
    let connections = parts.config.connections;
    let catalogue_timeout = options.catalogue_timeout;
    Ok(Arc::new(BoundedDatabase::new(
        database,
        connections,
        catalogue_timeout,
    )))
}

fn is_unavailable(error: &DatabaseError) -> bool {
    matches!(
        error.kind,
        DatabaseErrorKind::Unreachable | DatabaseErrorKind::Timeout
    )
}

fn task_error(error: &JoinError) -> SqlError {
    SqlError::Database(DatabaseError::new(
        DatabaseErrorKind::Failed,
        format!("cannot prepare the catalogue: {error}"),
    ))
}
