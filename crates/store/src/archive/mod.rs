//! Database catalogues and queries, stored in memory, SQLite or Redis. All stores enforce the same
//! limits and return the same search results, so a service can switch between them.

mod memory;
mod sqlite;

use std::sync::Arc;

use quillet_core::archive::{QueryPage, QueryRecord};
use quillet_core::store::{StoreError, StoreErrorKind};

use crate::{ids, tokenize};

pub use memory::MemoryArchive;
pub use sqlite::SqliteArchive;

/// Limits on the data that is stored for databases.
#[derive(Clone, Debug)]
pub struct ArchiveOptions {
    /// Maximum number of queries per database; 10,000. Beyond this number, the oldest queries are
    /// removed.
    pub max_records: usize,
    /// Maximum size of a database's queries as JSON; 16 MiB. Beyond this size, the oldest queries
    /// are removed.
    pub max_history_bytes: usize,
    /// Maximum size of a catalogue in bytes; 64 MiB. A larger catalogue is rejected.
    pub max_catalogue_bytes: usize,
    /// Maximum number of accepted queries per database; 500. Beyond this number, the oldest
    /// accepted queries are removed.
    pub max_accepted: usize,
    /// Maximum memory for all databases; 256 MiB. Beyond this size, the data of the least recently
    /// used databases is removed.
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
    /// Returns the JSON of a record without its number.
    ///
    /// # Errors
    /// `Refused` for a record that exceeds the limit of a history.
    pub(crate) fn text(&self, record: &QueryRecord) -> Result<String, StoreError> {
        // Number and acceptance are stored separately, so accepting a record does not rewrite its
        // text.
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

    /// Checks the size of a catalogue or of values.
    ///
    /// # Errors
    /// `Refused` if the data is too large.
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

/// Checks the name of a database.
pub(crate) fn name(database: &str) -> Result<&str, StoreError> {
    ids::checked("database", database)
}

/// Marks a stored record as accepted and sets its number.
pub(crate) fn accepted(id: u64, record: QueryRecord) -> QueryRecord {
    QueryRecord {
        id,
        accepted: true,
        ..record
    }
}

/// Returns the words of a record for the index.
fn indexed(record: &QueryRecord) -> String {
    let question = record.question.as_deref().unwrap_or_default();
    tokenize::indexed(&format!("{} {question}", record.sql))
}

/// Returns the records that contain every word of a search, newest first. A search without letters
/// and digits finds nothing.
pub(crate) async fn among(
    records: Vec<Arc<QueryRecord>>,
    search: &str,
    limit: usize,
) -> Result<QueryPage, StoreError> {
    let phrases = tokenize::phrases(search);
    if phrases.is_empty() {
        return Ok(QueryPage::default());
    }
    // Searching a long history takes time, so it runs on a separate thread.
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
