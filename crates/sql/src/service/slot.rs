//! One connection that is open: its database, and its catalogue as it was last read.

use std::sync::Arc;
use std::time::{Duration, Instant};

use quillet_core::archive::Archive;
use serde::{Deserialize, Serialize};
use tokio::sync::Mutex;
use tokio::task::{JoinError, spawn_blocking};
use tracing::warn;

use super::{Definition, Parts};
use crate::chain::Prepared;
use crate::database::Progress;
use crate::rank::Glossary;
use crate::{
    Catalogue, ConnectionUrl, Database, DatabaseError, DatabaseErrorKind, SqlError, connect, tunnel,
};

/// What a connection's name means at the moment.
#[derive(Debug)]
pub(super) struct Slot {
    /// What the connection is called.
    pub(super) name: String,
    /// The definition as it rests; a slot lives as long as this does not change.
    pub(super) text: Arc<str>,
    /// The definition.
    pub(super) definition: Definition,
    /// Where it leads.
    pub(super) database: Arc<dyn Database>,
    /// Address without secrets, which says whether a kept catalogue is of this database.
    shown: String,
    kept: Mutex<Option<Kept>>,
}

#[derive(Clone, Debug)]
struct Kept {
    prepared: Arc<Prepared>,
    /// When its fingerprint was last compared; `None` for one that was read from the archive.
    checked: Option<Instant>,
}

/// A catalogue as it rests in the archive.
#[derive(Serialize, Deserialize)]
struct Resting<C> {
    address: String,
    catalogue: C,
}

impl Slot {
    /// Opens what a definition describes.
    ///
    /// # Errors
    /// The definition or its address cannot be used.
    pub(super) fn open(name: &str, text: Arc<str>, parts: &Parts) -> Result<Slot, SqlError> {
        let definition = Definition::read(name, &text)?;
        let url: ConnectionUrl = definition.url.parse()?;
        Ok(Slot {
            name: name.to_owned(),
            database: open(&url, &definition, parts)?,
            shown: url.to_string(),
            definition,
            text,
            kept: Mutex::new(None),
        })
    }

    /// The catalogue, made ready for questions: kept while it is younger than `age` or its fingerprint
    /// holds. One that cannot be compared, since the database is away, is kept, too.
    ///
    /// # Errors
    /// The database does not answer and nothing is kept, or it refuses the user or the password.
    pub(super) async fn prepared(
        &self,
        parts: &Parts,
        age: Duration,
        progress: Progress<'_>,
    ) -> Result<Arc<Prepared>, SqlError> {
        let mut kept = self.kept.lock().await;
        if kept.is_none() {
            *kept = self.resting(parts).await;
        }
        if let Some(known) = kept.as_mut() {
            if known.checked.is_some_and(|at| at.elapsed() < age) {
                return Ok(known.prepared.clone());
            }
            match self.database.fingerprint().await {
                Ok(now) if now != known.prepared.catalogue.fingerprint => {}
                Ok(_) => {
                    known.checked = Some(Instant::now());
                    return Ok(known.prepared.clone());
                }
                // Who may not ask the database now learns nothing of what it said before.
                Err(error) if !is_away(&error) => return Err(error.into()),
                Err(error) => {
                    warn!(database = %self.name, %error, "the catalogue cannot be compared; it is used as it is kept");
                    return Ok(known.prepared.clone());
                }
            }
        }
        let read = self.read(parts, progress).await?;
        *kept = Some(read.clone());
        Ok(read.prepared)
    }

    /// The catalogue, read anew whatever is kept.
    ///
    /// # Errors
    /// The database does not answer.
    pub(super) async fn refreshed(
        &self,
        parts: &Parts,
        progress: Progress<'_>,
    ) -> Result<Arc<Prepared>, SqlError> {
        let mut kept = self.kept.lock().await;
        let read = self.read(parts, progress).await?;
        *kept = Some(read.clone());
        Ok(read.prepared)
    }

    async fn read(&self, parts: &Parts, progress: Progress<'_>) -> Result<Kept, SqlError> {
        let limit = parts.config.connect.catalogue_timeout;
        let catalogue = tokio::time::timeout(limit, self.database.catalogue(progress))
            .await
            .map_err(|_| {
                DatabaseError::new(
                    DatabaseErrorKind::Timeout,
                    format!(
                        "reading the catalogue of {} took longer than {} s (sql.catalogue_ms)",
                        self.database.describe(),
                        limit.as_secs()
                    ),
                )
            })??;
        self.keep(parts.archive.as_ref(), &catalogue).await;
        Ok(Kept {
            prepared: self.prepare(Arc::new(catalogue), parts).await?,
            checked: Some(Instant::now()),
        })
    }

    /// Works out what questions need, on a thread that may be busy for a second.
    async fn prepare(
        &self,
        catalogue: Arc<Catalogue>,
        parts: &Parts,
    ) -> Result<Arc<Prepared>, SqlError> {
        let mut entries = parts.config.glossary.entries.clone();
        entries.extend(self.definition.glossary.iter().cloned());
        let tokens = parts.tokens.clone();
        let work = move || Prepared::new(catalogue, &Glossary { entries }, tokens.as_ref());
        Ok(Arc::new(
            spawn_blocking(work).await.map_err(|error| ended(&error))?,
        ))
    }

    async fn resting(&self, parts: &Parts) -> Option<Kept> {
        let found = parts.archive.catalogue(&self.name).await;
        let bytes = match found {
            Ok(bytes) => bytes?,
            Err(error) => {
                warn!(database = %self.name, %error, "the kept catalogue cannot be had");
                return None;
            }
        };
        let read = spawn_blocking(move || serde_json::from_slice::<Resting<Catalogue>>(&bytes));
        let resting = read.await.ok()?.ok()?;
        if resting.address != self.shown || resting.catalogue.dialect != self.database.dialect() {
            return None;
        }
        let prepared = self
            .prepare(Arc::new(resting.catalogue), parts)
            .await
            .ok()?;
        Some(Kept {
            prepared,
            checked: None,
        })
    }

    /// Keeps a catalogue; one that cannot be kept is read again after a restart, which is no error.
    async fn keep(&self, archive: &dyn Archive, catalogue: &Catalogue) {
        let resting = Resting {
            address: self.shown.clone(),
            catalogue,
        };
        let Ok(bytes) = serde_json::to_vec(&resting) else {
            return;
        };
        if let Err(error) = archive.keep_catalogue(&self.name, &bytes).await {
            warn!(database = %self.name, %error, "the catalogue cannot be kept");
        }
    }
}

/// Opens the database of a definition.
pub(super) fn open(
    url: &ConnectionUrl,
    definition: &Definition,
    parts: &Parts,
) -> Result<Arc<dyn Database>, SqlError> {
    let mut options = parts.config.connect.clone();
    options.ssl_disabled |= definition.ssl_disabled;
    options.functions.clone_from(&parts.config.functions);
    Ok(match &definition.ssh_config {
        Some(ssh) => tunnel::through(url, ssh, &options)?,
        None => connect(url, &options)?,
    })
}

fn is_away(error: &DatabaseError) -> bool {
    matches!(
        error.kind,
        DatabaseErrorKind::Unreachable | DatabaseErrorKind::Timeout
    )
}

fn ended(error: &JoinError) -> SqlError {
    SqlError::Database(DatabaseError::new(
        DatabaseErrorKind::Failed,
        format!("the catalogue could not be made ready: {error}"),
    ))
}
