//! The databases of one installation, by name: connections in the store, catalogues and
//! history in the archive, and the way of a question through all of them.

mod definition;

use std::sync::Arc;

use quillet_core::archive::{Archive, QueryPage};
use quillet_core::chat::{ChatModel, TokenCounter};
use quillet_core::store::{Changes, Store};

use crate::chain::{Generated, Prompts};
use crate::database::{Checked, Progress, QueryLimits};
use crate::guard::Mode;
use crate::{Catalogue, Rows, SqlConfig, SqlError};

pub use definition::{Connection, Definition, SshConfig};

/// What the service is made of.
#[derive(Clone, Debug)]
pub struct Parts {
    /// Where connections rest.
    pub store: Arc<dyn Store>,
    /// Where catalogues and history rest.
    pub archive: Arc<dyn Archive>,
    /// Who chooses tables and writes queries.
    pub model: Option<Arc<dyn ChatModel>>,
    /// Who counts tokens.
    pub tokens: Arc<dyn TokenCounter>,
    /// Who renders the chain's prompts.
    pub prompts: Arc<dyn Prompts>,
    /// Settings.
    pub config: SqlConfig,
}

/// Databases under names. Cheap to clone; clones are the same service.
#[derive(Clone, Debug)]
pub struct Databases {
    parts: Arc<Parts>,
}

/// How a query is run.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// The question that it answers, for the history.
    pub question: Option<String>,
    /// What may pass the guard.
    pub mode: Mode,
    /// Bounds; those of the settings where `None`.
    pub limits: Option<QueryLimits>,
}

/// A query that ran.
#[derive(Clone, Debug)]
pub struct Ran {
    /// The query as it ran, with our LIMIT where it has one.
    pub sql: String,
    /// What it gave.
    pub rows: Rows,
    /// How long the database took, in milliseconds.
    pub execution_ms: u64,
    /// Tables that it read, `schema.table`.
    pub tables: Vec<String>,
}

/// What a PUT did.
#[derive(Clone, Debug)]
pub struct Put {
    /// The connection as it is now.
    pub connection: Connection,
    /// Whether there was none before.
    pub created: bool,
    /// What the role may do besides reading, a sentence each.
    pub warnings: Vec<String>,
}

impl Databases {
    /// A service of these parts.
    #[must_use]
    pub fn new(parts: Parts) -> Self {
        Databases {
            parts: Arc::new(parts),
        }
    }

    /// Its settings.
    #[must_use]
    pub fn config(&self) -> &SqlConfig {
        &self.parts.config
    }

    /// Changes of connections, and of what else rests in their store, from now on.
    #[must_use]
    pub fn changes(&self) -> Changes {
        self.parts.store.changes()
    }

    /// All connections, by name; a broken one is listed with its problem.
    ///
    /// # Errors
    /// The store does not answer.
    pub async fn list(&self) -> Result<Vec<Connection>, SqlError> {
        Err(SqlError::NoModel)
    }

    /// One connection.
    ///
    /// # Errors
    /// There is none of that name, it is broken, or the store does not answer.
    pub async fn get(&self, name: &str) -> Result<Connection, SqlError> {
        let _ = name;
        Err(SqlError::NoModel)
    }

    /// Connects to what a definition describes, and keeps it under a name if that works.
    /// The catalogue is read in the background.
    ///
    /// # Errors
    /// The name or the address cannot be used, the database cannot be reached, or the store refuses.
    pub async fn put(&self, name: &str, definition: Definition) -> Result<Put, SqlError> {
        let _ = (name, definition);
        Err(SqlError::NoModel)
    }

    /// Connects to what a definition describes and keeps nothing.
    ///
    /// # Errors
    /// The address cannot be used or the database cannot be reached.
    pub async fn test(&self, definition: &Definition) -> Result<Checked, SqlError> {
        let _ = definition;
        Err(SqlError::NoModel)
    }

    /// Forgets a connection, its catalogue and its history; `false` if there was none.
    ///
    /// # Errors
    /// The store or the archive does not answer.
    pub async fn remove(&self, name: &str) -> Result<bool, SqlError> {
        let _ = name;
        Err(SqlError::NoModel)
    }

    /// The catalogue of a database: as it is kept while its fingerprint holds, else read
    /// anew; always read anew if `refresh`.
    ///
    /// # Errors
    /// There is no such connection, or the database does not answer and nothing is kept.
    pub async fn catalogue(
        &self,
        name: &str,
        refresh: bool,
        progress: Progress<'_>,
    ) -> Result<Arc<Catalogue>, SqlError> {
        let _ = (name, refresh, progress);
        Err(SqlError::NoModel)
    }

    /// Writes a query that answers a question; runs nothing.
    ///
    /// # Errors
    /// The question is empty, the model does not answer with a query that may run, or
    /// what [`Databases::catalogue`] says.
    pub async fn generate(&self, name: &str, question: &str) -> Result<Generated, SqlError> {
        let _ = (name, question);
        Err(SqlError::NoModel)
    }

    /// Writes a query and runs it; an error of the database goes back to the model as one of the guard does.
    ///
    /// # Errors
    /// As [`Databases::generate`] and [`Databases::run`].
    pub async fn ask(
        &self,
        name: &str,
        question: &str,
        options: &RunOptions,
    ) -> Result<(Generated, Ran), SqlError> {
        let _ = (name, question, options);
        Err(SqlError::NoModel)
    }

    /// Runs a query that passes the guard, and keeps a record of it.
    ///
    /// # Errors
    /// The guard refuses it, or the database does.
    pub async fn run(&self, name: &str, sql: &str, options: &RunOptions) -> Result<Ran, SqlError> {
        let _ = (name, sql, options);
        Err(SqlError::NoModel)
    }

    /// Queries that ran, newest first, below the number `before`; `limit` from 1 to 100.
    ///
    /// # Errors
    /// There is no such connection, or the archive does not answer.
    pub async fn history(
        &self,
        name: &str,
        before: Option<u64>,
        limit: usize,
    ) -> Result<QueryPage, SqlError> {
        let _ = (name, before, limit);
        Err(SqlError::NoModel)
    }

    /// Queries that ran whose text or question has all of these words.
    ///
    /// # Errors
    /// As [`Databases::history`].
    pub async fn search_history(
        &self,
        name: &str,
        words: &str,
        limit: usize,
    ) -> Result<QueryPage, SqlError> {
        let _ = (name, words, limit);
        Err(SqlError::NoModel)
    }
}
