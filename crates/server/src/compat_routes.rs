//! Routes for clients of other services.

use axum::routing::MethodRouter;

use crate::request_context::RouteState;
use crate::requirements::RouteRequirements;

/// A route for clients of another service: its requirement, method, path and handler constructor.
/// The handler checks the permissions for the definition that the client names.
pub(crate) type CompatRoute = (
    RouteRequirements,
    &'static str,
    &'static str,
    fn() -> MethodRouter<RouteState>,
);
