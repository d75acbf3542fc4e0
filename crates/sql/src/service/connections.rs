//! Named connections: stored ones, and temporary ones of this process.

use std::collections::BTreeMap;
use std::sync::Arc;

use quillet_core::ErrorCode;
use quillet_core::history::{Commit, DefinitionContent, STORE};
use quillet_core::store::{EntryKey, EntryKind, StoreEntry};

use super::{Connection, ConnectionDefinition, Databases, names, slot};
use crate::database::ConnectionReport;
use crate::{ConnectionUrl, DatabaseError, DatabaseErrorKind, SqlError};
use quillet_core::lock::lock;

/// The result of storing a connection.
#[derive(Clone, Debug)]
pub struct PutResult {
    /// The stored connection.
    pub connection: Connection,
    /// Whether the connection is new.
    pub created: bool,
    /// The role's privileges beyond reading, one sentence each.
    pub warnings: Vec<String>,
    /// Number of the created version, if the store keeps a history.
    pub version: Option<u64>,
}

/// The result of removing a connection.
#[derive(Clone, Debug)]
pub struct RemoveResult {
    /// Number of the version that records the removal, if the store keeps a history.
    pub version: Option<u64>,
}

impl Databases {
    /// Adds a temporary connection, which is not stored. It hides a stored connection with the same
    /// name. The connection is opened on first use.
    ///
    /// # Errors
    /// Fails if the name or the URL is invalid.
    pub fn add_temporary(
        &self,
        name: &str,
        definition: &ConnectionDefinition,
    ) -> Result<(), SqlError> {
        names::check(name)?;
        let url = definition.url.parse::<ConnectionUrl>()?;
        let mut definition = definition.clone();
        // Users who pass a file can read it anyway, so its values may be shown to them.
        if url.path.is_some() && definition.values.is_none() {
            definition.values = Some(true);
        }
        let text: Arc<str> = to_json(&definition)?.into();
        lock(&self.inner.temporary).insert(name.to_owned(), text);
        Ok(())
    }

    /// Lists all connections by name. If a definition is invalid, the connection's `problem` is
    /// set.
    ///
    /// # Errors
    /// Fails if the store is unavailable.
    pub async fn list(&self) -> Result<Vec<Connection>, SqlError> {
        let stored = self.inner.parts.store.load(EntryKind::Database).await?;
        let stored = stored
            .iter()
            .map(|entry| (entry.key.as_str().to_owned(), connection_of_entry(entry)));
        let mut all: BTreeMap<String, Connection> = stored.collect();
        for (name, text) in lock(&self.inner.temporary).iter() {
            all.insert(name.clone(), connection_of_text(name, text));
        }
        Ok(all.into_values().collect())
    }

    /// Returns one connection.
    ///
    /// # Errors
    /// Fails if the connection does not exist or the store is unavailable.
    pub async fn get(&self, name: &str) -> Result<Connection, SqlError> {
        let text = self.definition_text(name).await?;
        Ok(connection_of_text(name, &text))
    }

    /// Tests a connection and stores it if the test succeeds. The catalogue is then read in the
    /// background.
    ///
    /// # Errors
    /// Fails if the name or the URL is invalid, the database is unreachable, or the store rejects
    /// the write.
    pub async fn put(
        &self,
        name: &str,
        definition: ConnectionDefinition,
    ) -> Result<PutResult, SqlError> {
        self.put_as(name, definition, STORE, "").await
    }

    /// Stores a connection like [`Databases::put`], and also sets the author and message of the new
    /// version.
    ///
    /// # Errors
    /// Same as [`Databases::put`].
    pub async fn put_as(
        &self,
        name: &str,
        mut definition: ConnectionDefinition,
        author: &str,
        message: &str,
    ) -> Result<PutResult, SqlError> {
        names::check(name)?;
        // The test comes first, so that a definition that cannot work is never stored.
        let checked = self.test(&definition).await?;
        let before = self.stored(name).await?;
        let known = before
            .as_deref()
            .and_then(|text| ConnectionDefinition::read(name, text).ok());
        let now = jiff::Timestamp::now();
        definition.created_at = known.and_then(|known| known.created_at).or(Some(now));
        definition.updated_at = Some(now);
        let text = to_json(&definition)?;
        let version = self
            .commit_definition(name, Some(&text), author, message)
            .await?;
        let slot = self.slot_of(name, text.into())?;
        if !slot.has_values {
            // Values sampled under another definition may not be allowed any more.
            self.inner.parts.archive.keep_values(name, None).await?;
        }
        self.read_in_background(&slot);
        Ok(PutResult {
            connection: Connection::of(name, &definition),
            created: before.is_none(),
            warnings: checked.warnings,
            version,
        })
    }

    /// Tests a connection without storing it.
    ///
    /// # Errors
    /// Fails if the URL is invalid or the database is unreachable.
    pub async fn test(
        &self,
        definition: &ConnectionDefinition,
    ) -> Result<ConnectionReport, SqlError> {
        let parts = &self.inner.parts;
        let url: ConnectionUrl = definition.url.parse()?;
        let database = slot::open(&url, definition, parts)?;
        // A server that accepts and then stays silent must not block the caller. The limit is
        // doubled: one timeout for the connection and one for the answer.
        let limit = parts.config.connect.connect_timeout * 2;
        let checked = tokio::time::timeout(limit, database.check()).await;
        let checked = checked.map_err(|_| {
            DatabaseError::new(
                DatabaseErrorKind::Unreachable,
                format!(
                    "{} does not answer within {} s (sql.connect_ms)",
                    database.describe(),
                    limit.as_secs()
                ),
            )
        })?;
        Ok(checked?)
    }

    /// Tests a stored connection.
    ///
    /// # Errors
    /// Fails if the connection does not exist or the database is unreachable.
    pub async fn test_known(&self, name: &str) -> Result<ConnectionReport, SqlError> {
        let text = self.definition_text(name).await?;
        self.test(&ConnectionDefinition::read(name, &text)?).await
    }

    /// Removes a connection, including its catalogue and history. Returns `false` if the connection
    /// did not exist.
    ///
    /// # Errors
    /// Fails if the store or the archive is unavailable.
    pub async fn remove(&self, name: &str) -> Result<bool, SqlError> {
        Ok(self.remove_as(name, STORE).await?.is_some())
    }

    /// Removes a connection like [`Databases::remove`], and also sets the author of the version.
    ///
    /// # Errors
    /// Same as [`Databases::remove`].
    pub async fn remove_as(
        &self,
        name: &str,
        author: &str,
    ) -> Result<Option<RemoveResult>, SqlError> {
        let temporary = lock(&self.inner.temporary).remove(name).is_some();
        let is_stored = self.stored(name).await?.is_some();
        let version = if is_stored {
            self.commit_definition(name, None, author, "").await?
        } else {
            None
        };
        // The slot is removed after the definition is removed from the store. Otherwise, a
        // concurrent query could open the connection again from the old definition.
        lock(&self.inner.slots).remove(name);
        if !temporary && !is_stored {
            return Ok(None);
        }
        self.inner.parts.archive.forget(name).await?;
        Ok(Some(RemoveResult { version }))
    }

    /// Stores or removes a definition. Returns the created version.
    async fn commit_definition(
        &self,
        name: &str,
        text: Option<&str>,
        author: &str,
        message: &str,
    ) -> Result<Option<u64>, SqlError> {
        let store = &self.inner.parts.store;
        let key = EntryKey::new(name);
        let Some(history) = store.history() else {
            match text {
                Some(text) => store.put(EntryKind::Database, &key, text).await?,
                None => drop(store.remove(EntryKind::Database, &key).await?),
            }
            return Ok(None);
        };
        let commit = Commit {
            message: message.into(),
            ..Commit::new(
                EntryKind::Database,
                key,
                text.map(DefinitionContent::new),
                author,
            )
        };
        let committed = history.commit(&commit).await?;
        Ok(Some(committed.version.number))
    }

    /// Returns the stored definition of a connection.
    async fn stored(&self, name: &str) -> Result<Option<Arc<str>>, SqlError> {
        let keys = [EntryKey::new(name)];
        let found = self
            .inner
            .parts
            .store
            .get(EntryKind::Database, &keys)
            .await?;
        Ok(found.into_iter().next().flatten())
    }

    /// Returns the definition of a temporary or stored connection.
    pub(super) async fn definition_text(&self, name: &str) -> Result<Arc<str>, SqlError> {
        let temporary = lock(&self.inner.temporary).get(name).cloned();
        if let Some(text) = temporary {
            return Ok(text);
        }
        if let Some(text) = self.stored(name).await? {
            return Ok(text);
        }
        let keys = self.inner.parts.store.keys(EntryKind::Database).await?;
        let temporary: Vec<String> = lock(&self.inner.temporary).keys().cloned().collect();
        let known = keys
            .iter()
            .map(EntryKey::as_str)
            .chain(temporary.iter().map(String::as_str));
        Err(SqlError::NotFound {
            what: "database",
            name: name.to_owned(),
            nearest: quillet_core::nearest(name, known).map(str::to_owned),
        })
    }
}

fn to_json(definition: &ConnectionDefinition) -> Result<String, SqlError> {
    serde_json::to_string(definition).map_err(|error| SqlError::Invalid {
        code: ErrorCode::SqlInvalidDefinition,
        message: format!("cannot serialize the connection: {error}"),
    })
}

fn connection_of_entry(entry: &StoreEntry) -> Connection {
    match &entry.problem {
        Some(problem) => Connection::broken(entry.key.as_str(), problem.to_string()),
        None => connection_of_text(entry.key.as_str(), &entry.text),
    }
}

fn connection_of_text(name: &str, text: &str) -> Connection {
    match ConnectionDefinition::read(name, text) {
        Ok(definition) => Connection::of(name, &definition),
        Err(error) => Connection::broken(name, error.to_string()),
    }
}
