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
mod intake;
mod labels;
mod list;
mod project;
mod protobuf;
mod read;
mod spans;
mod traces;

use axum::routing::{delete, get, patch, post};
use quillet_host::definitions::Right;

pub(crate) use self::error::answer;
use crate::doors::Door;
use crate::needs::Needs;

/// The routes, relative to the prefix of all routes.
pub(crate) const ROUTES: &[Door] = &[
    (READ, "GET", "/api/public/v2/prompts", || get(list::list)),
    (WRITE, "POST", "/api/public/v2/prompts", || {
        post(create::create)
    }),
    (READ, "GET", ONE, || get(read::read)),
    (WRITE, "DELETE", ONE, || delete(delete::delete)),
    // Whoever may only promote moves labels, too; all are answered with the version.
    (READ, "PATCH", VERSION, || patch(labels::relabel)),
    (Needs::Entry, "GET", "/api/public/projects", || {
        get(project::projects)
    }),
    (Needs::Entry, "GET", "/api/public/health", || {
        get(project::health)
    }),
    (RENDER, "POST", "/api/public/otel/v1/traces", || {
        post(intake::take)
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

const READ: Needs = Needs::Any(Right::Read);
const WRITE: Needs = Needs::Any(Right::Write);
const RENDER: Needs = Needs::Any(Right::Render);

const ONE: &str = "/api/public/v2/prompts/{name}";
const VERSION: &str = "/api/public/v2/prompts/{name}/versions/{version}";

/// What the paths of all of them begin with.
pub(crate) const BASE: &str = "/api/public/";
