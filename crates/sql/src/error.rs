//! Errors of questions and queries.

use quillet_core::chat::{FinishReason, ModelError};
use quillet_core::store::StoreError;
use quillet_core::{ErrorCode, LineColumn};

use crate::database::{DatabaseError, DatabaseErrorKind};
use crate::export::ExportError;
use crate::guard::GuardError;
use crate::url::UrlError;

/// Error of a question or query.
#[derive(Clone, Debug, thiserror::Error)]
pub enum SqlError {
    /// The named connection, table or record does not exist.
    #[error("unknown {what} {name:?}{}", suggestion(.nearest.as_deref()))]
    NotFound {
        /// Kind of the missing item: `database`, `table`.
        what: &'static str,
        /// The requested name.
        name: String,
        /// The most similar known name.
        nearest: Option<String>,
    },
    /// Invalid input.
    #[error("{message}")]
    Invalid {
        /// Stable code, `sql.invalid.…`.
        code: ErrorCode,
        /// The problem and its fix.
        message: String,
    },
    /// Invalid connection URL.
    #[error(transparent)]
    Url(#[from] UrlError),
    /// The guard rejected a query.
    #[error(transparent)]
    Guard(#[from] Box<RejectedQuery>),
    /// The database returned an error or did not answer.
    #[error(transparent)]
    Database(#[from] DatabaseError),
    /// No model is configured.
    #[error(
        "no model configured to write the query: set sql.model or model.name (an API key does not select a model)"
    )]
    NoModel,
    /// The model did not answer.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The model's answer does not contain a query.
    #[error("{message}")]
    Answer {
        /// The problem.
        message: String,
        /// The answer, cut to 2,000 bytes.
        answer: String,
    },
    /// The model's answer is truncated, so it is never used.
    #[error("{}", cut_answer(*.reason, *.max_tokens, .setting))]
    Cut {
        /// Finish reason of the answer.
        reason: FinishReason,
        /// Token limit of the answer.
        max_tokens: u64,
        /// Setting that controls the limit.
        setting: &'static str,
    },
    /// A prompt could not be rendered.
    #[error("cannot render the prompt {prompt:?}: {message}")]
    Prompt {
        /// Id of the prompt.
        prompt: String,
        /// The problem.
        message: String,
    },
    /// The export format cannot hold the rows.
    #[error(transparent)]
    Export(#[from] ExportError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A query that the guard rejected, and the reason.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{error}")]
pub struct RejectedQuery {
    /// Reason for the rejection.
    pub error: GuardError,
    /// The rejected query.
    pub sql: String,
}

fn cut_answer(reason: FinishReason, max_tokens: u64, setting: &str) -> String {
    match reason {
        FinishReason::Length => format!(
            "truncated answer: the model reached max_tokens {max_tokens} ({setting}), and the answer is not used"
        ),
        other => format!(
            "incomplete answer: the model stopped early ({other}), and the answer is not used"
        ),
    }
}

fn suggestion(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |name| format!("; did you mean {name:?}?"))
}

impl SqlError {
    /// Creates the error for a query that the guard rejected.
    ///
    /// ```
    /// use quillet_core::ErrorCode;
    /// use quillet_sql::guard::{Policy, check};
    /// use quillet_sql::{SqlDialect, SqlError};
    ///
    /// let sql = "EXPLAIN SELECT 1";
    /// let error = check(sql, SqlDialect::PostgreSql, None, &Policy::default()).unwrap_err();
    /// assert_eq!(SqlError::from_rejected_query(error, sql).code(), ErrorCode::GuardStatement);
    /// ```
    #[must_use]
    pub fn from_rejected_query(error: GuardError, sql: &str) -> Self {
        SqlError::Guard(Box::new(RejectedQuery {
            error,
            sql: sql.to_owned(),
        }))
    }

    /// Returns the code for error bodies, which does not change between versions.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        match self {
            SqlError::NotFound { what: "table", .. } => ErrorCode::SqlTableNotFound,
            SqlError::NotFound { .. } => ErrorCode::SqlNotFound,
            SqlError::Invalid { code, .. } => *code,
            SqlError::Url(_) => ErrorCode::SqlInvalidUrl,
            SqlError::Guard(refusal) => refusal.error.code,
            SqlError::Database(error) => error.kind.code(),
            SqlError::NoModel => ErrorCode::SqlNoModel,
            SqlError::Model(error) => error.kind.code(),
            SqlError::Answer { .. } => ErrorCode::SqlAnswer,
            SqlError::Cut { .. } => ErrorCode::SqlAnswerCut,
            SqlError::Prompt { .. } => ErrorCode::SqlPrompt,
            SqlError::Export(error) => error.code(),
            SqlError::Store(error) => error.kind.code(),
        }
    }

    /// Returns the message, including the position and the fix, for the prompt that repairs the
    /// query.
    #[must_use]
    pub fn for_model(&self) -> String {
        let mut text = self.to_string();
        if let Some(position) = self.position() {
            text.push_str(&format!(
                " (line {}, column {})",
                position.line, position.column
            ));
        }
        if let Some(help) = self.help() {
            text.push_str("; ");
            text.push_str(&help);
        }
        text
    }

    /// Returns the fix, if known.
    #[must_use]
    pub fn help(&self) -> Option<String> {
        match self {
            SqlError::Guard(refusal) => refusal.error.help.clone(),
            SqlError::Database(error) => error.hint.clone(),
            SqlError::Cut { setting, .. } => Some(format!("answer shorter, or raise {setting}")),
            _ => None,
        }
    }

    /// Returns whether a different query could succeed. Returns `false` if the database is
    /// unreachable or slow.
    #[must_use]
    pub fn is_repairable(&self) -> bool {
        match self {
            SqlError::Guard(_) | SqlError::Answer { .. } | SqlError::Cut { .. } => true,
            SqlError::Database(error) => matches!(
                error.kind,
                DatabaseErrorKind::Syntax
                    | DatabaseErrorKind::UnknownName
                    | DatabaseErrorKind::Failed
                    | DatabaseErrorKind::ReadOnly
                    | DatabaseErrorKind::Refused
            ),
            _ => false,
        }
    }

    /// Returns the position in the query.
    #[must_use]
    pub fn position(&self) -> Option<LineColumn> {
        match self {
            SqlError::Guard(refusal) => refusal.error.position,
            _ => None,
        }
    }
}
