//! Stub of the database routes for builds without the feature `sql`.

use quillet_core::ErrorCode;
use quillet_core::build::FeatureDisabled;

use crate::error::{ApiError, problem};
use crate::request_context::RequestContext;
use crate::route::RouteEntry;

const SQL: FeatureDisabled = FeatureDisabled {
    what: "databases",
    feature: "sql",
};

/// Where the routes would be mounted (see `sql/mod.rs`).
pub(crate) const BASE: &str = "/api/v1";

/// Returns whether a path, without the server's prefix, belongs to databases.
pub(crate) fn has_path(path: &str) -> bool {
    let rest = path
        .strip_prefix(BASE)
        .and_then(|path| path.strip_prefix("/dbs"));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// No routes.
pub(crate) const ROUTES: &[RouteEntry] = &[];

/// Always fails: databases are not included.
pub(crate) async fn answer(call: &RequestContext, name: &str, _: &str) -> Result<String, ApiError> {
    let _ = (call, name);
    Err(problem(ErrorCode::FeatureMissing, SQL.to_string()))
}

/// Returns the error for a path of databases, whatever the server's prefix is.
pub(crate) fn missing_at(path: &str) -> Option<FeatureDisabled> {
    // The prefix is unknown here, so the base path is searched instead of compared.
    let start = path.find(BASE)?;
    has_path(&path[start..]).then_some(SQL)
}
