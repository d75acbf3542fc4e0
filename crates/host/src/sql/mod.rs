//! Databases of a store: as tools, and with the prompts of the store.

mod prompts;
mod tools;

pub use prompts::StoredPrompts;
pub use quillet_sql::Databases;
pub use tools::DatabaseTools;
