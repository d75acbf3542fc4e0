//! Converts errors of databases to HTTP errors.

use std::time::Duration;

use quillet_sql::{DatabaseErrorKind, SqlError};

use crate::error::{ApiError, problem};

/// An unreachable database may be available again soon.
const RETRY: Duration = Duration::from_secs(1);

impl From<SqlError> for ApiError {
    fn from(error: SqlError) -> Self {
        let answer = problem(error.code(), error.to_string()).with_sql_status();
        // Editors mark this location in the text of the query.
        let answer = answer.with_query_position(error.position());
        let mut answer = match error.help() {
            Some(help) => answer.with_hint(help),
            None => answer,
        };
        match &error {
            SqlError::NotFound {
                nearest: Some(near),
                ..
            } => answer.with_hint(format!("did you mean {near}?")),
            SqlError::Model(error) => {
                answer.copy_provider_error(error);
                answer
            }
            SqlError::Database(error) if error.kind == DatabaseErrorKind::Unreachable => {
                answer.with_retry_after(RETRY)
            }
            SqlError::Store(_) => answer.with_retry_after(RETRY),
            _ => answer,
        }
    }
}
