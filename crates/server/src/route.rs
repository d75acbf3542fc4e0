//! The entry type of the route lists.

use utoipa_axum::router::UtoipaMethodRouter;

use crate::request_context::RouteState;
use crate::requirements::RouteRequirements;

/// Creates a handler with its OpenAPI description. A function, because the descriptions of all
/// routes together take megabytes: the router drops each one before it creates the next, and the
/// document is written on request.
pub(crate) type RouteBuilder = fn() -> UtoipaMethodRouter<RouteState>;

/// A route with its required permission, which every route must state.
pub(crate) type RouteEntry = (RouteRequirements, RouteBuilder);
