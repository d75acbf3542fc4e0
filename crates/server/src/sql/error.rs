//! Converts errors of databases to HTTP errors.

use std::time::Duration;

use quillet_sql::{DatabaseErrorKind, SqlError};

use crate::error::{ApiError, problem};

/// What cannot be reached now may be there in a moment.
const RETRY: Duration = Duration::from_secs(1);

impl From<SqlError> for ApiError {
    fn from(error: SqlError) -> Self {
        let answer = problem(error.code(), error.to_string()).with_sql_status();
        // Editors mark the location in the query text.
        let answer = answer.in_query(error.position());
        let mut answer = match error.help() {
            Some(help) => answer.hint(help),
            None => answer,
        };
        match &error {
            SqlError::NotFound {
                nearest: Some(near),
                ..
            } => answer.hint(format!("did you mean {near}?")),
            SqlError::Model(error) => {
                answer.blame(error);
                answer
            }
            SqlError::Database(error) if error.kind == DatabaseErrorKind::Unreachable => {
                answer.retry_after(RETRY)
            }
            SqlError::Store(_) => answer.retry_after(RETRY),
            _ => answer,
        }
    }
}
