//! The databases that a server has.

use quillet_core::ErrorCode;
use quillet_host::sql::Databases;

use crate::error::{ApiError, problem};
use crate::exchange::Call;

/// The databases of this server.
pub(super) fn databases(call: &Call) -> Result<&Databases, ApiError> {
    match &call.app.databases {
        Some(tools) => Ok(tools.databases()),
        None => Err(problem(
            ErrorCode::SqlOff,
            "no databases are set up in this server",
        )),
    }
}
