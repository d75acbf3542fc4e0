//! What a command ends with, and its exit code.

use quillet_core::store::StoreError;
use temporalio_client::errors::{
    WorkflowGetResultError, WorkflowInteractionError, WorkflowQueryError, WorkflowStartError,
    WorkflowUpdateError,
};

/// The reason why a command fails.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
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

impl Failure {
    /// The exit code: 2 for usage, else 1, as `quillet` has them.
    #[must_use]
    pub fn exit(&self) -> u8 {
        match self {
            Failure::Usage(_) | Failure::Settings(_) => 2,
            _ => 1,
        }
    }

    /// What Temporal says of a run.
    pub(crate) fn of(address: &str, run: &str, error: impl Into<Said>) -> Self {
        match error.into() {
            Said::NoRun => Failure::NoRun(run.to_owned()),
            Said::NotWaiting(why) => Failure::NotWaiting(why),
            Said::Other(what) => Failure::Temporal {
                address: address.to_owned(),
                what,
            },
        }
    }
}

/// What Temporal says, told apart as far as somebody can do something about it.
#[derive(Debug)]
pub(crate) enum Said {
    NoRun,
    NotWaiting(String),
    Other(String),
}

impl From<WorkflowStartError> for Said {
    fn from(error: WorkflowStartError) -> Self {
        Said::Other(error.to_string())
    }
}

impl From<WorkflowUpdateError> for Said {
    fn from(error: WorkflowUpdateError) -> Self {
        match error {
            WorkflowUpdateError::NotFound(_) => Said::NoRun,
            WorkflowUpdateError::Failed(failure) => Said::NotWaiting(failure.message),
            other => Said::Other(other.to_string()),
        }
    }
}

impl From<WorkflowQueryError> for Said {
    fn from(error: WorkflowQueryError) -> Self {
        match error {
            WorkflowQueryError::NotFound(_) => Said::NoRun,
            other => Said::Other(format!("{other}; a worker has to run to answer this")),
        }
    }
}

impl From<WorkflowInteractionError> for Said {
    fn from(error: WorkflowInteractionError) -> Self {
        match error {
            WorkflowInteractionError::NotFound(_) => Said::NoRun,
            other => Said::Other(other.to_string()),
        }
    }
}

impl From<WorkflowGetResultError> for Said {
    fn from(error: WorkflowGetResultError) -> Self {
        match error {
            WorkflowGetResultError::NotFound(_) => Said::NoRun,
            other => Said::Other(other.to_string()),
        }
    }
}
