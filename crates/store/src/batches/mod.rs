//! Files and batches: in an SQLite file, or one in memory, for one machine; in Redis for many.

mod rows;
mod sqlite;

pub use sqlite::SqliteBatches;
