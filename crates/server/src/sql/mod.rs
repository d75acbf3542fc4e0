//! Databases over HTTP: connections, catalogues, questions, queries and their history, as
//! clients of table-chat know them.
//!
//! What a query may do is not decided here: [`quillet_sql`] guards and runs it.

mod connections;
mod error;
mod file;
mod history;
mod layout;
mod metadata;
mod pieces;
mod query;
mod question;

use quillet_core::ErrorCode;
use quillet_core::build::Missing;
use quillet_host::sql::Databases;
use utoipa_axum::routes;

use crate::error::{ApiError, problem};
use crate::exchange::Call;
use crate::routes::Make;

/// Where the routes are mounted: where clients of table-chat look for them.
pub(crate) const BASE: &str = "/api/v1";

/// Whether a path, without the server's prefix, is one of databases.
pub(crate) fn has_path(path: &str) -> bool {
    let rest = path
        .strip_prefix(BASE)
        .and_then(|path| path.strip_prefix("/dbs"));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The routes of databases, relative to `/api/v1`.
pub(crate) const ROUTES: &[Make] = &[
    || routes!(connections::list),
    || routes!(connections::put),
    || routes!(connections::get),
    || routes!(connections::delete),
    || routes!(connections::test),
    || routes!(metadata::all),
    || routes!(metadata::refresh),
    || routes!(metadata::tables),
    || routes!(metadata::table),
    || routes!(query::run),
    || routes!(question::ask),
    || routes!(layout::format),
    || routes!(history::list),
    || routes!(history::search),
    || routes!(history::accept, history::unaccept),
];

/// What a build without databases says of a path; this one has them.
pub(crate) fn missing_at(_: &str) -> Option<Missing> {
    None
}

/// The databases of this server.
fn databases(call: &Call) -> Result<&Databases, ApiError> {
    match &call.app.databases {
        Some(tools) => Ok(tools.databases()),
        None => Err(problem(
            ErrorCode::SqlOff,
            "no databases are set up in this server",
        )),
    }
}
