//! A row of the lists of routes.

use utoipa_axum::router::UtoipaMethodRouter;

use crate::exchange::At;
use crate::needs::Needs;

/// Makes a handler with what the document says of it. A function, since the words of all routes
/// together take megabytes: the router drops those of one before it makes the next, and the
/// document is written when it is asked for.
pub(crate) type Make = fn() -> UtoipaMethodRouter<At>;

/// A route, with what it needs. There is no route without.
pub(crate) type Row = (Needs, Make);
