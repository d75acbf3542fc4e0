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

/// The state of one connection.
#[derive(Debug)]
pub(super) struct ConnectionSlot {
    /// What the connection is called.
    pub(super) name: String,
    /// The definition as it is stored; a slot lives as long as this does not change.
    pub(super) text: Arc<str>,
    /// The definition.
    pub(super) definition: ConnectionDefinition,
    /// Its database.
    pub(super) database: Arc<dyn Database>,
    /// Address without secrets, which says whether a stored catalogue is of this database.
    shown: String,
    kept: Mutex<Option<CachedCatalogue>>,
    /// Held while the catalogue is compared or read, so that only one task does so.
    reader: tokio::sync::Mutex<()>,
    /// Whether a task compares the catalogue in the background.
    is_compared: AtomicBool,
    /// Whether values of its columns are sampled.
    pub(super) has_values: bool,
    /// Values as they were last sampled or stored.
    sampled: Mutex<Option<Arc<ValueSamples>>>,
    /// Held while values are sampled, so that only one task does so.
    pub(super) sampler: Arc<tokio::sync::Mutex<()>>,
}

#[derive(Clone, Debug)]
struct CachedCatalogue {
    prepared: Arc<PreparedCatalogue>,
    /// When its fingerprint was last compared; `None` for one that was read from the archive.
    compared: Option<Instant>,
}

/// A catalogue as it is stored in the archive.
#[derive(Serialize, Deserialize)]
struct ArchivedCatalogue<C> {
    address: String,
    catalogue: C,
}

/// Values as they are stored there.
#[derive(Serialize, Deserialize)]
struct RestingValues<S> {
    address: String,
    sampled: S,
}

impl ConnectionSlot {
    /// Opens what a definition describes.
    ///
    /// # Errors
    /// The definition or its address cannot be used.
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
            // A flag and not the mutex: queries must see at once that a comparison is in progress,
            // without waiting for it.
            is_compared: AtomicBool::new(false),
            has_values,
            sampled: Mutex::default(),
            sampler: Arc::default(),
        })
    }

    /// The catalogue as it is stored, however old, for queries: their database says for itself what
    /// is there and who may see it. `None` where nothing is stored.
    pub(super) async fn cached_catalogue(
        &self,
        parts: &ServiceParts,
    ) -> Option<Arc<PreparedCatalogue>> {
        if let Some(known) = self.cached() {
            return Some(known.prepared);
        }
        // Where somebody reads it already, the query does not wait for that.
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

    /// Whether the caller is the one who compares the catalogue behind the others; it says when it
    /// is done.
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

    /// Returns the prepared catalogue: the cached one while it is younger than `age` or its
    /// fingerprint is current. If the database is unreachable, the cached one is used as well.
    ///
    /// # Errors
    /// The database does not answer and nothing is stored, or it refuses the user or the password.
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
        // Somebody else may have read or compared it while this waited.
        let known = match self.cached() {
            Some(known) => Some(known),
            None => self.load_catalogue(parts).await,
        };
        let Some(mut known) = known else {
            return Ok(self.cache_catalogue(&self.read(parts, progress).await?));
        };
        // Checked again after the lock: the task that held it may just have compared the catalogue.
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
            // A role that may not ask the database now learns nothing of what it said before.
            Err(error) => {
                *lock(&self.kept) = None;
                Err(error.into())
            }
        }
    }

    /// The catalogue, read again whatever is stored.
    ///
    /// # Errors
    /// The database does not answer.
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

    /// Works out what questions need, on a thread that may be busy for a second.
    async fn prepare(
        &self,
        catalogue: Arc<Catalogue>,
        parts: &ServiceParts,
    ) -> Result<Arc<PreparedCatalogue>, SqlError> {
        let mut entries = parts.config.glossary.entries.clone();
        entries.extend(self.definition.glossary.iter().cloned());
        let tokens = parts.tokens.clone();
        let sampled = self.sampled(parts).await;
        // Tokenizing all tables takes about a second for 10,000 of them and would block the async
        // threads.
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
        // An archive may be shared or restored: a catalogue of another address is not used for this
        // connection.
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

    /// Values as they are known, else as they are stored; none where they are not wanted.
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

    /// Values as they are stored in the archive, where another replica may have put them.
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

    /// Takes over values that were just sampled; ones that cannot be stored are sampled again after
    /// a restart, which is no error.
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

    /// Keeps a catalogue; one that cannot be stored is read again after a restart, which is no
    /// error.
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
    // TLS can be disabled by the settings for all connections or by one definition; neither can
    // enable it against the other.
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
