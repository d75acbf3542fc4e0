//! Databases over HTTP: connections, catalogues, questions, queries and their history, as
//! the origin's clients know them (note 1.1 on seed 001); and databases as tools.
//!
//! What a query may do is not decided here: [`quillet_sql`] guards and runs it.

mod offer;
mod prompts;

pub use offer::DatabaseTools;
pub use prompts::StoredPrompts;
