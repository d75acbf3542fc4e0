//! The contract with stores of what was learned about databases: the catalogue as it was last read,
//! values of its columns, the queries that ran, and which of them people accepted.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::BoxFuture;
use crate::store::StoreError;

/// A query that ran.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct QueryRecord {
    /// Number of the record; grows with time within one archive. 0 before it is stored.
    pub id: u64,
    /// The database that was asked.
    pub database: String,
    /// The query as it ran.
    pub sql: String,
    /// The question that it answers, if a model wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
    /// Rows that came back.
    pub row_count: u64,
    /// How long the database took, in milliseconds.
    pub execution_ms: u64,
    /// When it ran, in milliseconds since 1970-01-01 UTC.
    pub executed_at: u64,
    /// Whether a person said that it answers its question. A history leaves it open: see
    /// [`Archive::accepted`].
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub accepted: bool,
}

/// Some of the records of a database, newest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueryPage {
    /// The records.
    pub items: Vec<QueryRecord>,
    /// How many there are in all, on this page and off it.
    pub total: u64,
    /// Whether older ones follow.
    pub more: bool,
}

/// What is stored about databases between runs of the program. A catalogue and values are opaque
/// texts here; only the crate that reads databases knows what they say.
pub trait Archive: Send + Sync + fmt::Debug {
    /// What and where it is, without secrets.
    fn describe(&self) -> String;

    /// The catalogue of a database as it was last stored.
    fn catalogue<'a>(
        &'a self,
        database: &'a str,
    ) -> BoxFuture<'a, Result<Option<Arc<[u8]>>, StoreError>>;

    /// Keeps a catalogue in place of the one before.
    fn keep_catalogue<'a>(
        &'a self,
        database: &'a str,
        catalogue: &'a [u8],
    ) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Values of a database's columns as they were last stored.
    fn values<'a>(
        &'a self,
        database: &'a str,
    ) -> BoxFuture<'a, Result<Option<Arc<[u8]>>, StoreError>>;

    /// Keeps values in place of those before; `None` keeps none. They are bounded as a catalogue
    /// is.
    fn keep_values<'a>(
        &'a self,
        database: &'a str,
        values: Option<&'a [u8]>,
    ) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Keeps a record of a query; its number. The oldest go when there are too many.
    fn record<'a>(&'a self, record: &'a QueryRecord) -> BoxFuture<'a, Result<u64, StoreError>>;

    /// Records of a database, newest first, of those numbered below `before`.
    fn history<'a>(
        &'a self,
        database: &'a str,
        before: Option<u64>,
        limit: usize,
    ) -> BoxFuture<'a, Result<QueryPage, StoreError>>;

    /// Records of a database whose query or question has every word of `words`, in any
    /// case of letters; Chinese words are found inside longer ones. Newest first.
    fn search<'a>(
        &'a self,
        database: &'a str,
        words: &'a str,
        limit: usize,
    ) -> BoxFuture<'a, Result<QueryPage, StoreError>>;

    /// Keeps a copy of a record that was given a number, as one whose query answers its question;
    /// it stays when the history lets the record go. The oldest go when there are too many.
    fn accept<'a>(&'a self, record: &'a QueryRecord) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Accepts the record of a number no longer; `false` if it was not accepted.
    fn unaccept<'a>(
        &'a self,
        database: &'a str,
        id: u64,
    ) -> BoxFuture<'a, Result<bool, StoreError>>;

    /// All records of a database that are accepted, newest first.
    fn accepted<'a>(
        &'a self,
        database: &'a str,
    ) -> BoxFuture<'a, Result<Vec<QueryRecord>, StoreError>>;

    /// Forgets everything about a database.
    fn forget<'a>(&'a self, database: &'a str) -> BoxFuture<'a, Result<(), StoreError>>;
}
