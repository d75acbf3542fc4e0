//! The table from [`SqlError`] to a status.

use std::time::Duration;

use quillet_core::build;
use quillet_core::store::StoreErrorKind;
use quillet_sql::{DatabaseError, DatabaseErrorKind, SqlError};

use crate::error::{ApiError, problem};

/// What cannot be reached now may be there in a moment.
const RETRY: Duration = Duration::from_secs(1);

fn status(error: &SqlError) -> u16 {
    match error {
        SqlError::NotFound { .. } => 404,
        SqlError::Invalid { .. }
        | SqlError::Url(_)
        | SqlError::Guard(_)
        | SqlError::Answer { .. }
        | SqlError::Cut { .. } => 400,
        SqlError::Export(error) if error.code() == build::CODE => 501,
        SqlError::Export(_) => 400,
        SqlError::Database(error) => database(error),
        SqlError::NoModel | SqlError::Model(_) => 503,
        SqlError::Prompt { .. } => 500,
        SqlError::Store(error) => match error.kind {
            StoreErrorKind::Unavailable => 503,
            StoreErrorKind::Missing => 501,
            StoreErrorKind::Refused | StoreErrorKind::Configuration | StoreErrorKind::Corrupt => {
                500
            }
        },
    }
}

/// What the query says is the client's; what came of running it is the database's.
fn database(error: &DatabaseError) -> u16 {
    match error.kind {
        DatabaseErrorKind::Syntax
        | DatabaseErrorKind::UnknownName
        | DatabaseErrorKind::ReadOnly
        | DatabaseErrorKind::Refused => 400,
        DatabaseErrorKind::Role | DatabaseErrorKind::Unjudged => 403,
        DatabaseErrorKind::Timeout => 408,
        DatabaseErrorKind::Unreachable
        | DatabaseErrorKind::Denied
        | DatabaseErrorKind::Limit
        | DatabaseErrorKind::Failed => 503,
        DatabaseErrorKind::Missing => 501,
    }
}

impl From<SqlError> for ApiError {
    fn from(error: SqlError) -> Self {
        let answer = problem(status(&error), error.code(), error.to_string());
        let answer = answer.in_query(error.position());
        let answer = match error.help() {
            Some(help) => answer.hint(help),
            None => answer,
        };
        match &error {
            SqlError::NotFound {
                nearest: Some(near),
                ..
            } => answer.hint(format!("did you mean {near}?")),
            SqlError::Model(error) => answer.of_model(error),
            SqlError::Database(error) if error.kind == DatabaseErrorKind::Unreachable => {
                answer.retry_after(RETRY)
            }
            SqlError::Store(_) => answer.retry_after(RETRY),
            _ => answer,
        }
    }
}
