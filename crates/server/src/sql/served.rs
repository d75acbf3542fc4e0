//! The databases that a server has.

use std::time::Duration;

use quillet_core::ErrorCode;
use quillet_host::sql::Databases;

use crate::error::{ApiError, problem};
use crate::request_context::RequestContext;

/// The databases of this server.
pub(super) fn databases(call: &RequestContext) -> Result<&Databases, ApiError> {
    match &call.app.databases {
        Some(tools) => Ok(tools.databases()),
        None => Err(problem(
            ErrorCode::SqlOff,
            "databases are not configured on this server",
        )),
    }
}

/// Counts a query that ran.
pub(super) fn count(call: &RequestContext, execution_ms: u64) {
    let time = Duration::from_millis(execution_ms);
    call.app.metrics.queries.record(time);
}
