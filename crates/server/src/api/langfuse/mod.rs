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
mod labels;
mod list;
mod project;
mod read;

use axum::routing::{get, patch};

pub(crate) use self::error::answer;
use super::Door;

/// The routes, relative to the prefix of all routes.
pub(crate) const ROUTES: &[Door] = &[
    ("GET", "/api/public/v2/prompts", || get(list::list)),
    ("POST", "/api/public/v2/prompts", || {
        axum::routing::post(create::create)
    }),
    ("GET", "/api/public/v2/prompts/{name}", || get(read::read)),
    ("DELETE", "/api/public/v2/prompts/{name}", || {
        axum::routing::delete(delete::delete)
    }),
    (
        "PATCH",
        "/api/public/v2/prompts/{name}/versions/{version}",
        || patch(labels::relabel),
    ),
    ("GET", "/api/public/projects", || get(project::projects)),
    ("GET", "/api/public/health", || get(project::health)),
];

/// What the paths of all of them begin with.
pub(crate) const BASE: &str = "/api/public/";
