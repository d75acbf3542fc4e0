//! What a command ends with, and its exit code.

use quillet_core::store::StoreError;
use temporalio_client::errors::{
    WorkflowGetResultError, WorkflowInteractionError, WorkflowQueryError, WorkflowStartError,
    WorkflowUpdateError,
};

/// The reason why a command fails.
#[derive(Debug, thiserror::Error)]
pub enum CliError {
    /// What was asked for cannot be, and how to mend it.
    #[error("{0}")]
    Usage(String),
    /// Temporal's server cannot be reached, or did not do it.
    #[error("Temporal at {address}: {what}")]
    Temporal {
        /// Where it is.
        address: String,
        /// What it says.
        what: String,
    },
    /// There is no such run.
    #[error("run.unknown: there is no run {0:?} at Temporal")]
    NoRun(String),
    /// The call does not wait, or somebody else was first.
    #[error("{0}")]
    NotWaiting(String),
    /// A run did not end well.
    #[error("{0}")]
    Ended(String),
    /// A setting is wrong, or something that it names cannot be opened.
    #[error(transparent)]
    Settings(#[from] quillet::Error),
    /// The journal does not answer.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Nothing can be printed.
    #[error(transparent)]
    Output(#[from] std::io::Error),
}

impl CliError {
    /// The exit code: 2 for usage, else 1, as `quillet` has them.
    #[must_use]
    pub fn exit(&self) -> u8 {
        match self {
            CliError::Usage(_) | CliError::Settings(_) => 2,
            _ => 1,
        }
    }

    /// What Temporal says of a run.
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

/// What Temporal says, told apart as far as somebody can do something about it.
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
            other => ServiceError::Other(format!("{other}; a worker has to run to answer this")),
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
