//! Databases of a store: as tools of the catalogue, and asked with the store's own prompts.

mod offer;
mod prompts;

pub use offer::DatabaseTools;
pub use prompts::StoredPrompts;
pub use quillet_sql::Databases;
