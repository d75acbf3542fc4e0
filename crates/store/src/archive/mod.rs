//! What was learned about databases, stored: in memory, in SQLite, in Redis. All three keep the
//! same bounds and find the same queries, so that a service may move from one to the other.

mod memory;
mod sqlite;

use std::sync::Arc;

use quillet_core::archive::{QueryPage, QueryRecord};
use quillet_core::store::{StoreError, StoreErrorKind};

use crate::{ids, tokenize};

pub use memory::MemoryArchive;
pub use sqlite::SqliteArchive;

/// Bounds of what is stored about databases.
#[derive(Clone, Debug)]
pub struct ArchiveOptions {
    /// Most queries of a database; 10,000. The oldest make room.
    pub max_records: usize,
    /// Most bytes of the queries of a database, as JSON; 16 MiB. The oldest make room.
    pub max_history_bytes: usize,
    /// Most bytes of a catalogue; 64 MiB. A larger one is refused.
    pub max_catalogue_bytes: usize,
    /// Most queries of a database that are accepted; 500. The oldest make room.
    pub max_accepted: usize,
    /// Most bytes of everything in memory; 256 MiB. The databases that were used longest
    /// ago are forgotten.
    pub max_memory_bytes: usize,
}

impl Default for ArchiveOptions {
    fn default() -> Self {
        ArchiveOptions {
            max_records: 10_000,
            max_history_bytes: 16 << 20,
            max_catalogue_bytes: 64 << 20,
            max_accepted: 500,
            max_memory_bytes: 256 << 20,
        }
    }
}

impl ArchiveOptions {
    /// A record as it is stored: JSON, its number left open.
    ///
    /// # Errors
    /// `Refused` for one that is larger than a history may be.
    pub(crate) fn text(&self, record: &QueryRecord) -> Result<String, StoreError> {
        // Number and acceptance are kept outside of the text, so accepting a record does not
        // rewrite it.
        let open = QueryRecord {
            id: 0,
            accepted: false,
            ..record.clone()
        };
        let refused = |reason: String| {
            let message = format!(
                "cannot store a query of database {:?}: {reason}",
                record.database
            );
            StoreError::new(StoreErrorKind::Refused, message)
        };
        let text = serde_json::to_string(&open).map_err(|error| refused(error.to_string()))?;
        let (length, limit) = (text.len(), self.max_history_bytes);
        if length > limit {
            return Err(refused(format!(
                "it has {length} bytes, and the limit of a history is {limit} (max_history_bytes)"
            )));
        }
        Ok(text)
    }

    /// Passes a catalogue or values that may be stored.
    ///
    /// # Errors
    /// `Refused` for what is too large.
    pub(crate) fn fits(&self, what: &str, database: &str, bytes: &[u8]) -> Result<(), StoreError> {
        let (length, limit) = (bytes.len(), self.max_catalogue_bytes);
        if length <= limit {
            return Ok(());
        }
        let message = format!(
            "cannot store the {what} of database {database:?}: {length} bytes, and the limit is {limit} (max_catalogue_bytes)"
        );
        Err(StoreError::new(StoreErrorKind::Refused, message))
    }
}

/// Passes the name of a database.
pub(crate) fn name(database: &str) -> Result<&str, StoreError> {
    ids::checked("database", database)
}

/// A record that was stored as accepted, with its number.
pub(crate) fn accepted(id: u64, record: QueryRecord) -> QueryRecord {
    QueryRecord {
        id,
        accepted: true,
        ..record
    }
}

/// A record's words for an index.
fn indexed(record: &QueryRecord) -> String {
    let question = record.question.as_deref().unwrap_or_default();
    tokenize::indexed(&format!("{} {question}", record.sql))
}

/// The records that have every word of a search, newest first as they come. A search
/// without a letter or a digit finds nothing.
pub(crate) async fn among(
    records: Vec<Arc<QueryRecord>>,
    search: &str,
    limit: usize,
) -> Result<QueryPage, StoreError> {
    let phrases = tokenize::phrases(search);
    if phrases.is_empty() {
        return Ok(QueryPage::default());
    }
    // A long history takes a while, and other requests are waiting.
    let looking = tokio::task::spawn_blocking(move || page(&records, &phrases, limit));
    looking.await.map_err(|error| {
        let message = format!("cannot search the query history: {error}");
        StoreError::new(StoreErrorKind::Unavailable, message)
    })
}

fn page(records: &[Arc<QueryRecord>], phrases: &[String], limit: usize) -> QueryPage {
    let found = records.iter().filter(|record| has(record, phrases));
    let found: Vec<&Arc<QueryRecord>> = found.collect();
    QueryPage {
        items: found.iter().take(limit).map(|it| (***it).clone()).collect(),
        total: found.len() as u64,
        more: found.len() > limit,
    }
}

fn has(record: &QueryRecord, phrases: &[String]) -> bool {
    // Spaces at both ends make a phrase match complete words only.
    let words = format!(" {} ", indexed(record));
    let mut phrases = phrases.iter();
    phrases.all(|phrase| words.contains(&format!(" {phrase} ")))
}
