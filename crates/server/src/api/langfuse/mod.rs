//! The API that Langfuse's clients for Python and Node need: prompts with versions and labels, and
//! traces. Users of these clients only change the host.
//!
//! The routes are not in the OpenAPI document: the formats are Langfuse's, and clients generated
//! from that document should not use them. `docs/doors.md` lists all of them.

mod answer;
mod compose;
mod create;
mod delete;
mod error;
mod ingest;
mod labels;
mod list;
mod project;
mod protobuf;
mod read;
mod spans;
mod traces;

use axum::routing::{delete, get, patch, post};
use quillet_host::definitions::Permission;

pub(crate) use self::error::answer;
use crate::compat_routes::CompatRoute;
use crate::requirements::RouteRequirements;

/// The routes, relative to the prefix of all routes.
pub(crate) const ROUTES: &[CompatRoute] = &[
    (READ, "GET", "/api/public/v2/prompts", || get(list::list)),
    (WRITE, "POST", "/api/public/v2/prompts", || {
        post(create::create)
    }),
    (READ, "GET", ONE, || get(read::read)),
    (WRITE, "DELETE", ONE, || delete(delete::delete)),
    // The permission `promote` is enough to move labels, but every response contains the version.
    // So these routes require `read`, and the handler checks the other permissions.
    (READ, "PATCH", VERSION, || patch(labels::relabel)),
    (
        RouteRequirements::Entry,
        "GET",
        "/api/public/projects",
        || get(project::projects),
    ),
    (
        RouteRequirements::Entry,
        "GET",
        "/api/public/health",
        || get(project::health),
    ),
    (RENDER, "POST", "/api/public/otel/v1/traces", || {
        post(ingest::ingest_spans)
    }),
    (READ, "GET", "/api/public/traces/{id}", || {
        get(traces::trace)
    }),
    (READ, "GET", "/api/public/observations/{id}", || {
        get(traces::observation)
    }),
    (READ, "GET", "/api/public/v2/observations", || {
        get(traces::observations)
    }),
];

const READ: RouteRequirements = RouteRequirements::Any(Permission::Read);
const WRITE: RouteRequirements = RouteRequirements::Any(Permission::Write);
const RENDER: RouteRequirements = RouteRequirements::Any(Permission::Render);

const ONE: &str = "/api/public/v2/prompts/{name}";
const VERSION: &str = "/api/public/v2/prompts/{name}/versions/{version}";

/// The common prefix of the paths.
pub(crate) const BASE: &str = "/api/public/";
