//! Files and batches: in SQLite (a file or in memory) for one machine, in Redis for several.
//! in-memory databases.

mod rows;
mod sqlite;

pub use sqlite::SqliteBatches;
