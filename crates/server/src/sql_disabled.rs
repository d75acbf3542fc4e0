//! What stands where databases would, in a build without the feature `sql`: their routes say so.

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

/// Whether a path, without the server's prefix, is one of databases.
pub(crate) fn has_path(path: &str) -> bool {
    let rest = path
        .strip_prefix(BASE)
        .and_then(|path| path.strip_prefix("/dbs"));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// No routes.
pub(crate) const ROUTES: &[RouteEntry] = &[];

/// No database answers.
pub(crate) async fn answer(call: &RequestContext, name: &str, _: &str) -> Result<String, ApiError> {
    let _ = (call, name);
    Err(problem(ErrorCode::FeatureMissing, SQL.to_string()))
}

/// What this build says of a path of databases, whatever the server's prefix is.
pub(crate) fn missing_at(path: &str) -> Option<FeatureDisabled> {
    let start = path.find(BASE)?;
    has_path(&path[start..]).then_some(SQL)
}
