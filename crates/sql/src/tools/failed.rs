//! Converts database errors to tool errors.

use quillet_core::tool::{ToolError, ToolErrorKind};

use crate::{DatabaseErrorKind, SqlError};

impl From<SqlError> for ToolError {
    fn from(error: SqlError) -> Self {
        ToolError::new(kind(&error), error.for_model())
    }
}

fn kind(error: &SqlError) -> ToolErrorKind {
    match error {
        SqlError::NotFound { .. } => ToolErrorKind::Unknown,
        SqlError::Invalid { .. } | SqlError::Url(_) | SqlError::Guard(_) => {
            ToolErrorKind::Arguments
        }
        SqlError::Database(error) => match error.kind {
            DatabaseErrorKind::Unreachable => ToolErrorKind::Transport,
            DatabaseErrorKind::Timeout => ToolErrorKind::Timeout,
            DatabaseErrorKind::Denied
            | DatabaseErrorKind::ReadOnly
            | DatabaseErrorKind::Refused
            | DatabaseErrorKind::Role
            | DatabaseErrorKind::Unjudged
            | DatabaseErrorKind::Missing => ToolErrorKind::Refused,
            DatabaseErrorKind::Syntax | DatabaseErrorKind::UnknownName => ToolErrorKind::Arguments,
            DatabaseErrorKind::Limit => ToolErrorKind::TooLarge,
            DatabaseErrorKind::Failed => ToolErrorKind::Remote,
        },
        SqlError::NoModel
        | SqlError::Model(_)
        | SqlError::Answer { .. }
        | SqlError::Cut { .. }
        | SqlError::Prompt { .. }
        | SqlError::Export(_)
        | SqlError::Store(_) => ToolErrorKind::Remote,
    }
}
