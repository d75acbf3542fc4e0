//! The entry type of the route lists.

use utoipa_axum::router::UtoipaMethodRouter;

use crate::request_context::RouteState;
use crate::requirements::RouteRequirements;

/// Creates a handler with its OpenAPI description. This is a function because all descriptions
/// together take megabytes. The router drops each one before it creates the next, and the document
/// is generated on request.
pub(crate) type RouteBuilder = fn() -> UtoipaMethodRouter<RouteState>;

/// A route with its required permission, which every route must state.
pub(crate) type RouteEntry = (RouteRequirements, RouteBuilder);
