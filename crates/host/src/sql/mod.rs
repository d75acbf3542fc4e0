//! Databases of a store: as tools of the catalogue, and asked with the store's own prompts.

mod prompts;
mod tools;

pub use prompts::StoredPrompts;
pub use quillet_sql::Databases;
pub use tools::DatabaseTools;
