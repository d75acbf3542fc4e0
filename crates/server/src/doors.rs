//! Routes for clients of other services.

use axum::routing::MethodRouter;

use crate::exchange::At;
use crate::needs::Needs;

/// A route for clients of another service: what it needs, its method, its path, and what makes its
/// handler, which asks for the rights for the definition that the client names.
pub(crate) type Door = (Needs, &'static str, &'static str, fn() -> MethodRouter<At>);
