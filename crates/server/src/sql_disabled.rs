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

/// The base path of the missing routes (see `sql/mod.rs`).
pub(crate) const BASE: &str = "/api/v1";

/// Returns whether a path, without the server's prefix, belongs to databases.
pub(crate) fn has_path(path: &str) -> bool {
    let rest = path
        .strip_prefix(BASE)
        .and_then(|path| path.strip_prefix("/dbs"));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// This build has no database routes.
pub(crate) const ROUTES: &[RouteEntry] = &[];

/// Fails, because this build does not include databases.
pub(crate) async fn answer(call: &RequestContext, name: &str, _: &str) -> Result<String, ApiError> {
    let _ = (call, name);
    Err(problem(ErrorCode::FeatureMissing, SQL.to_string()))
}

/// Returns the error for a database path, with any server prefix.
pub(crate) fn missing_at(path: &str) -> Option<FeatureDisabled> {
    // The prefix is unknown here, so the base path may be anywhere in the path.
    let start = path.find(BASE)?;
    has_path(&path[start..]).then_some(SQL)
}
