//! Databases over HTTP: connections, catalogues, questions, queries and their history, as
//! the origin's clients know them; and databases as tools.
//!
//! What a query may do is not decided here: [`quillet_sql`] guards and runs it.

pub(crate) mod connections;
mod error;
mod file;
pub(crate) mod given;
pub(crate) mod history;
pub(crate) mod layout;
pub(crate) mod metadata;
mod offer;
mod pieces;
mod prompts;
pub(crate) mod query;
pub(crate) mod question;

use quillet_sql::Databases;

use crate::error::{ApiError, problem};
use crate::exchange::Call;

pub use offer::DatabaseTools;
pub use prompts::StoredPrompts;

/// Where the routes are mounted: the origin's place.
pub(crate) const BASE: &str = "/api/v1";

/// Whether a path, without the server's prefix, is one of databases.
pub(crate) fn has_path(path: &str) -> bool {
    let rest = path
        .strip_prefix(BASE)
        .and_then(|path| path.strip_prefix("/dbs"));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The databases of this server.
fn databases(call: &Call) -> Result<&Databases, ApiError> {
    match &call.app.databases {
        Some(tools) => Ok(tools.databases()),
        None => Err(problem(
            503,
            "sql.off",
            "no databases are set up in this server",
        )),
    }
}
