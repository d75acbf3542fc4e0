//! Errors of the commands, with their exit codes.

use quillet_core::store::StoreError;
use temporalio_client::errors::{
    WorkflowGetResultError, WorkflowInteractionError, WorkflowQueryError, WorkflowStartError,
    WorkflowUpdateError,
};

/// Error of a `quillet-worker` command.
#[derive(Debug, thiserror::Error)]
pub enum CliError {
    /// Invalid usage, with the fix.
    #[error("{0}")]
    Usage(String),
    /// The Temporal server is unavailable or returned an error.
    #[error("Temporal at {address}: {what}")]
    Temporal {
        /// Address of the server.
        address: String,
        /// Error message.
        what: String,
    },
    /// The run does not exist.
    #[error("run.unknown: Temporal has no run {0:?}")]
    NoRun(String),
    /// The call is not pending, or was already decided.
    #[error("{0}")]
    NotWaiting(String),
    /// A run failed.
    #[error("{0}")]
    Ended(String),
    /// A setting is invalid, or a file, store or service that it names cannot be opened.
    #[error(transparent)]
    Settings(#[from] quillet::Error),
    /// The journal failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The output cannot be written.
    #[error(transparent)]
    Output(#[from] std::io::Error),
}

impl CliError {
    /// Returns the exit code: 2 for usage errors, 1 otherwise, as in `quillet`.
    #[must_use]
    pub fn exit(&self) -> u8 {
        match self {
            CliError::Usage(_) | CliError::Settings(_) => 2,
            _ => 1,
        }
    }

    /// Creates an error from an error of Temporal about a run.
    pub(crate) fn of(address: &str, run: &str, error: impl Into<ServiceError>) -> Self {
        match error.into() {
            ServiceError::NoRun => CliError::NoRun(run.to_owned()),
            ServiceError::NotWaiting(why) => CliError::NotWaiting(why),
            ServiceError::Other(what) => CliError::Temporal {
                address: address.to_owned(),
                what,
            },
        }
    }
}

/// Errors of Temporal, by what the user can do about them.
#[derive(Debug)]
pub(crate) enum ServiceError {
    NoRun,
    NotWaiting(String),
    Other(String),
}

impl From<WorkflowStartError> for ServiceError {
    fn from(error: WorkflowStartError) -> Self {
        ServiceError::Other(error.to_string())
    }
}

impl From<WorkflowUpdateError> for ServiceError {
    fn from(error: WorkflowUpdateError) -> Self {
        match error {
            WorkflowUpdateError::NotFound(_) => ServiceError::NoRun,
            WorkflowUpdateError::Failed(failure) => ServiceError::NotWaiting(failure.message),
            other => ServiceError::Other(other.to_string()),
        }
    }
}

impl From<WorkflowQueryError> for ServiceError {
    fn from(error: WorkflowQueryError) -> Self {
        match error {
            WorkflowQueryError::NotFound(_) => ServiceError::NoRun,
            other => {
                ServiceError::Other(format!("{other}; start a worker, which answers this query"))
            }
        }
    }
}

impl From<WorkflowInteractionError> for ServiceError {
    fn from(error: WorkflowInteractionError) -> Self {
        match error {
            WorkflowInteractionError::NotFound(_) => ServiceError::NoRun,
            other => ServiceError::Other(other.to_string()),
        }
    }
}

impl From<WorkflowGetResultError> for ServiceError {
    fn from(error: WorkflowGetResultError) -> Self {
        match error {
            WorkflowGetResultError::NotFound(_) => ServiceError::NoRun,
            other => ServiceError::Other(other.to_string()),
        }
    }
}
