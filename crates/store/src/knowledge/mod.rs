//! Collections of documents in an SQLite file. Search is by words (FTS5, BM25), and also by meaning
//! if an embedding model is configured.

mod folder;
mod html;
mod passages;
mod rows;
mod sqlite_knowledge;
mod vectors;

pub use folder::ImportReport;
pub use sqlite_knowledge::{KnowledgeOptions, SqliteKnowledge};
