//! The routes of MLflow's prompt registry. There a prompt is a registered model with tags, and its
//! versions are model versions. The formats are MLflow's, so the routes are not in the OpenAPI
//! document. `docs/doors.md` lists all of them.

mod alias;
mod answer;
mod create;
mod error;
mod read;

use axum::routing::{delete, get, post};
use quillet_host::definitions::Permission;

pub(crate) use self::error::answer;
use crate::compat_routes::CompatRoute;
use crate::requirements::RouteRequirements;

/// The routes, relative to the prefix of all routes.
pub(crate) const ROUTES: &[CompatRoute] = &[
    (READ, "GET", "/api/2.0/mlflow/registered-models/get", || {
        get(read::model)
    }),
    (READ, "GET", ALIAS, || get(read::by_alias)),
    (READ, "GET", "/api/2.0/mlflow/model-versions/get", || {
        get(read::version)
    }),
    (
        WRITE,
        "POST",
        "/api/2.0/mlflow/registered-models/create",
        || post(create::model),
    ),
    (
        WRITE,
        "POST",
        "/api/2.0/mlflow/registered-models/set-tag",
        || post(create::tag),
    ),
    (
        WRITE,
        "POST",
        "/api/2.0/mlflow/model-versions/create",
        || post(create::version),
    ),
    // The permission `promote` is enough to move labels, so the handler checks permissions itself.
    (RouteRequirements::Entry, "POST", ALIAS, || post(alias::set)),
    (RouteRequirements::Entry, "DELETE", ALIAS, || {
        delete(alias::remove)
    }),
];

const READ: RouteRequirements = RouteRequirements::Any(Permission::Read);
const WRITE: RouteRequirements = RouteRequirements::Any(Permission::Write);

const ALIAS: &str = "/api/2.0/mlflow/registered-models/alias";

/// The common prefix of the paths.
pub(crate) const BASE: &str = "/api/2.0/mlflow/";
