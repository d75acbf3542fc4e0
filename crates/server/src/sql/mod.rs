//! Routes for databases: connections, catalogues, questions, queries and their history. They are
//! compatible with clients of table-chat.
//!
//! [`quillet_sql`] checks and runs the queries.

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

use quillet_core::build::FeatureDisabled;
use quillet_core::store::EntryKind;
use quillet_host::definitions::Permission;
use utoipa_axum::routes;

use crate::requirements::{READ, RENDER, RouteRequirements, WRITE};
use crate::route::RouteEntry;

/// The base path, which is that of table-chat.
pub(crate) const BASE: &str = "/api/v1";

/// Returns whether a path, without the server's prefix, belongs to databases.
pub(crate) fn has_path(path: &str) -> bool {
    let rest = path
        .strip_prefix(BASE)
        .and_then(|path| path.strip_prefix("/dbs"));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The routes of databases, relative to `/api/v1`.
pub(crate) const ROUTES: &[RouteEntry] = &[
    (RouteRequirements::Any(Permission::Read), || {
        routes!(connections::list)
    }),
    (RouteRequirements::Of(WRITE, EntryKind::Database), || {
        routes!(connections::put)
    }),
    (RouteRequirements::Of(READ, EntryKind::Database), || {
        routes!(connections::get)
    }),
    (RouteRequirements::Of(WRITE, EntryKind::Database), || {
        routes!(connections::delete)
    }),
    (RouteRequirements::Of(RENDER, EntryKind::Database), || {
        routes!(connections::test)
    }),
    (RouteRequirements::Of(READ, EntryKind::Database), || {
        routes!(metadata::all)
    }),
    (RouteRequirements::Of(RENDER, EntryKind::Database), || {
        routes!(metadata::refresh)
    }),
    (RouteRequirements::Of(READ, EntryKind::Database), || {
        routes!(metadata::tables)
    }),
    (RouteRequirements::Of(READ, EntryKind::Database), || {
        routes!(metadata::table)
    }),
    (RouteRequirements::Of(RENDER, EntryKind::Database), || {
        routes!(query::run)
    }),
    (RouteRequirements::Of(RENDER, EntryKind::Database), || {
        routes!(question::ask)
    }),
    (RouteRequirements::Any(Permission::Render), || {
        routes!(layout::format)
    }),
    (RouteRequirements::Of(READ, EntryKind::Database), || {
        routes!(history::list)
    }),
    (RouteRequirements::Of(READ, EntryKind::Database), || {
        routes!(history::search)
    }),
    (RouteRequirements::Of(WRITE, EntryKind::Database), || {
        routes!(history::accept)
    }),
    (RouteRequirements::Of(WRITE, EntryKind::Database), || {
        routes!(history::unaccept)
    }),
    (RouteRequirements::Of(READ, EntryKind::Database), || {
        routes!(versions::list)
    }),
    (RouteRequirements::Of(READ, EntryKind::Database), || {
        routes!(versions::get)
    }),
    (RouteRequirements::Of(READ, EntryKind::Database), || {
        routes!(versions::diff)
    }),
    (RouteRequirements::Of(WRITE, EntryKind::Database), || {
        routes!(versions::rollback)
    }),
];

pub(crate) use question::answer;

/// Always returns `None`, because this build includes databases.
pub(crate) fn missing_at(_: &str) -> Option<FeatureDisabled> {
    None
}
