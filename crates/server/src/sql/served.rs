//! Access to the databases of a server.

use std::time::Duration;

use quillet_core::ErrorCode;
use quillet_host::sql::Databases;

use crate::error::{ApiError, problem};
use crate::request_context::RequestContext;

/// Returns the databases of this server.
pub(super) fn databases(call: &RequestContext) -> Result<&Databases, ApiError> {
    match &call.app.databases {
        Some(tools) => Ok(tools.databases()),
        None => Err(problem(
            ErrorCode::SqlOff,
            "databases are not configured on this server",
        )),
    }
}

/// Counts an executed query.
pub(super) fn count(call: &RequestContext, execution_ms: u64) {
    let time = Duration::from_millis(execution_ms);
    call.app.metrics.queries.record(time);
}
