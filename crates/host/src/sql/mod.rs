//! Databases of a store: their tools, and their stored prompts.

mod prompts;
mod tools;

pub use prompts::StoredPrompts;
pub use quillet_sql::Databases;
pub use tools::DatabaseTools;
