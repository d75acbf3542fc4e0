//! The routes that Langfuse's clients for Python and Node ask, so that they work with nothing but
//! another host: prompts with their versions and labels, and the traces that they send.
//!
//! They are no part of the OpenAPI document: their shapes are Langfuse's own, which its clients
//! carry with them, and clients that are made from our document should not use them.
//! `docs/doors.md` has them all.

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
    // Whoever may only promote moves labels, too; all are answered with the version.
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
        post(ingest::take)
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

/// What the paths of all of them begin with.
pub(crate) const BASE: &str = "/api/public/";
