//! Storage of facts about databases: the last catalogue, column values, executed queries, and
//! queries that users accepted.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::BoxFuture;
use crate::store::StoreError;

/// An executed query.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct QueryRecord {
    /// Number of the record. It increases within an archive, and is 0 before the record is stored.
    pub id: u64,
    /// The queried database.
    pub database: String,
    /// The query text as executed.
    pub sql: String,
    /// The question that the query answers, if a model wrote the query.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
    /// Number of returned rows.
    pub row_count: u64,
    /// How long the database took, in milliseconds.
    pub execution_ms: u64,
    /// When it ran, in milliseconds since 1970-01-01 UTC.
    pub executed_at: u64,
    /// Whether a user confirmed that the query answers its question. Set only in results of
    /// [`Archive::accepted`], not in the history.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub accepted: bool,
}

/// A page of query records of a database, newest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueryPage {
    /// The records.
    pub items: Vec<QueryRecord>,
    /// Total number of matching records.
    pub total: u64,
    /// Whether older records follow.
    pub more: bool,
}

/// Persistent knowledge about databases. An archive stores catalogues and values as opaque bytes,
/// which only the SQL crate interprets.
pub trait Archive: Send + Sync + fmt::Debug {
    /// Describes the archive and its location, without secrets.
    fn describe(&self) -> String;

    /// Returns the last stored catalogue of a database.
    fn catalogue<'a>(
        &'a self,
        database: &'a str,
    ) -> BoxFuture<'a, Result<Option<Arc<[u8]>>, StoreError>>;

    /// Stores a catalogue, replacing the previous one.
    fn keep_catalogue<'a>(
        &'a self,
        database: &'a str,
        catalogue: &'a [u8],
    ) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Returns the last stored column values of a database.
    fn values<'a>(
        &'a self,
        database: &'a str,
    ) -> BoxFuture<'a, Result<Option<Arc<[u8]>>, StoreError>>;

    /// Stores column values, replacing the previous ones; `None` removes them. The size limit of
    /// catalogues applies.
    fn keep_values<'a>(
        &'a self,
        database: &'a str,
        values: Option<&'a [u8]>,
    ) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Stores a record and returns its number. If there are too many, the oldest records are
    /// deleted.
    fn record<'a>(&'a self, record: &'a QueryRecord) -> BoxFuture<'a, Result<u64, StoreError>>;

    /// Returns records of a database with numbers below `before`, newest first.
    fn history<'a>(
        &'a self,
        database: &'a str,
        before: Option<u64>,
        limit: usize,
    ) -> BoxFuture<'a, Result<QueryPage, StoreError>>;

    /// Returns records whose query or question contains every word of `words`, ignoring case,
    /// newest first. Chinese words also match inside longer ones.
    fn search<'a>(
        &'a self,
        database: &'a str,
        words: &'a str,
        limit: usize,
    ) -> BoxFuture<'a, Result<QueryPage, StoreError>>;

    /// Stores a copy of a numbered record as accepted. The copy remains when the history deletes
    /// the record. If there are too many, the oldest accepted records are deleted.
    fn accept<'a>(&'a self, record: &'a QueryRecord) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Removes a record from the accepted ones. `false` if it was not accepted.
    fn unaccept<'a>(
        &'a self,
        database: &'a str,
        id: u64,
    ) -> BoxFuture<'a, Result<bool, StoreError>>;

    /// Returns all accepted records of a database, newest first.
    fn accepted<'a>(
        &'a self,
        database: &'a str,
    ) -> BoxFuture<'a, Result<Vec<QueryRecord>, StoreError>>;

    /// Deletes everything stored about a database.
    fn forget<'a>(&'a self, database: &'a str) -> BoxFuture<'a, Result<(), StoreError>>;
}
