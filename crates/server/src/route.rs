//! A row of the lists of routes.

use utoipa_axum::router::UtoipaMethodRouter;

use crate::request_context::RouteState;
use crate::requirements::RouteRequirements;

/// Makes a handler with what the document says of it. A function, since the words of all routes
/// together take megabytes: the router drops those of one before it makes the next, and the
/// document is written when it is asked for.
pub(crate) type RouteBuilder = fn() -> UtoipaMethodRouter<RouteState>;

/// A route, with what it needs. There is no route without.
pub(crate) type RouteEntry = (RouteRequirements, RouteBuilder);
