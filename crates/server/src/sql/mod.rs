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
mod served;
mod versions;

use quillet_core::build::Missing;
use quillet_core::store::Kind;
use quillet_host::definitions::Right;
use utoipa_axum::routes;

use crate::needs::{Needs, READ, RENDER, WRITE};
use crate::row::Row;

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
pub(crate) const ROUTES: &[Row] = &[
    (Needs::Any(Right::Read), || routes!(connections::list)),
    (Needs::Of(WRITE, Kind::Database), || {
        routes!(connections::put)
    }),
    (Needs::Of(READ, Kind::Database), || {
        routes!(connections::get)
    }),
    (Needs::Of(WRITE, Kind::Database), || {
        routes!(connections::delete)
    }),
    (Needs::Of(RENDER, Kind::Database), || {
        routes!(connections::test)
    }),
    (Needs::Of(READ, Kind::Database), || routes!(metadata::all)),
    (Needs::Of(RENDER, Kind::Database), || {
        routes!(metadata::refresh)
    }),
    (Needs::Of(READ, Kind::Database), || {
        routes!(metadata::tables)
    }),
    (Needs::Of(READ, Kind::Database), || routes!(metadata::table)),
    (Needs::Of(RENDER, Kind::Database), || routes!(query::run)),
    (Needs::Of(RENDER, Kind::Database), || routes!(question::ask)),
    (Needs::Any(Right::Render), || routes!(layout::format)),
    (Needs::Of(READ, Kind::Database), || routes!(history::list)),
    (Needs::Of(READ, Kind::Database), || routes!(history::search)),
    (Needs::Of(WRITE, Kind::Database), || {
        routes!(history::accept)
    }),
    (Needs::Of(WRITE, Kind::Database), || {
        routes!(history::unaccept)
    }),
    (Needs::Of(READ, Kind::Database), || routes!(versions::list)),
    (Needs::Of(READ, Kind::Database), || routes!(versions::get)),
    (Needs::Of(READ, Kind::Database), || routes!(versions::diff)),
    (Needs::Of(WRITE, Kind::Database), || {
        routes!(versions::rollback)
    }),
];

pub(crate) use question::answer;

/// What a build without databases says of a path; this one has them.
pub(crate) fn missing_at(_: &str) -> Option<Missing> {
    None
}
