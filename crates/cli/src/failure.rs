//! Why a command failed, and which exit code says so.

use std::fmt;
use std::io;

use quillet::settings::Wrong;
use quillet::{Error, Finding};
use quillet_agent::AgentError;
use quillet_core::build::Missing;
use quillet_core::chat::ModelError;
use quillet_core::store::{StoreError, StoreErrorKind};
use quillet_core::{ErrorCode, Exit};
use quillet_host::agent::{DecideError, ForkError};
use quillet_host::definitions::DefinitionError;
use quillet_prompt::ServiceError;

/// Why a command failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Something outside did not do what it should.
    Other(String),
    /// The command line, the environment or a setting is wrong.
    Usage(String),
    /// A configuration file is wrong.
    Config(Wrong),
    /// Templates or variables are wrong, at these places.
    Findings(Vec<Finding>),
    /// The prompt service did not do what it was asked.
    Service(Box<ServiceError>),
    /// A definition or a version of it is not there, or cannot be written.
    Definition(Box<DefinitionError>),
    /// A run of an agent failed.
    Agent(Box<AgentError>),
    /// The reader of the output left.
    ClosedPipe,
    /// The user pressed control-C.
    Interrupted,
    /// This build cannot do it.
    Missing(Missing),
    /// It was said already.
    Said(Exit),
}

impl Failure {
    /// The exit code.
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Failure::Other(_) => Exit::Failure,
            Failure::Usage(_) | Failure::Config(_) | Failure::Missing(_) => Exit::Usage,
            Failure::Findings(_) => Exit::Template,
            Failure::Service(error) => error.root_code().exit(),
            Failure::Definition(error) => error.code().exit(),
            Failure::Agent(error) => error.root_code().exit(),
            Failure::ClosedPipe => Exit::ClosedPipe,
            Failure::Interrupted => Exit::Interrupted,
            Failure::Said(exit) => *exit,
        }
    }
}

impl From<AgentError> for Failure {
    fn from(error: AgentError) -> Self {
        Failure::Agent(Box::new(error))
    }
}

impl From<DecideError> for Failure {
    fn from(error: DecideError) -> Self {
        of_run(error.code(), &error.to_string())
    }
}

impl From<ForkError> for Failure {
    fn from(error: ForkError) -> Self {
        of_run(error.code(), &error.to_string())
    }
}

/// What is wrong with a durable run, or with what is asked of it.
fn of_run(code: ErrorCode, message: &str) -> Failure {
    let help = code.help();
    let message = format!("{message} [{code}]\n  help: {help}");
    match code.exit() {
        Exit::Usage => Failure::Usage(message),
        _ => Failure::Other(message),
    }
}

impl From<DefinitionError> for Failure {
    fn from(error: DefinitionError) -> Self {
        match error {
            DefinitionError::Store(error) => error.into(),
            error => Failure::Definition(Box::new(error)),
        }
    }
}

impl From<ServiceError> for Failure {
    fn from(error: ServiceError) -> Self {
        Failure::Service(Box::new(error))
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        match error.kind {
            StoreErrorKind::Configuration | StoreErrorKind::Missing => {
                Failure::Usage(error.message)
            }
            _ => ServiceError::from(error).into(),
        }
    }
}

impl From<ModelError> for Failure {
    fn from(error: ModelError) -> Self {
        ServiceError::from(error).into()
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::Setting(message) => Failure::Usage(message),
            Error::Config(wrong) => Failure::Config(wrong),
            Error::Findings(found) => Failure::Findings(found),
            Error::Service(error) => Failure::Service(error),
            Error::Agent(error) => Failure::Agent(error),
            Error::Missing(missing) => Failure::Missing(missing),
            other => Failure::Other(other.to_string()),
        }
    }
}

/// A failure to write the result.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::ClosedPipe,
            _ => Failure::Other(format!("cannot write the result: {error}")),
        }
    }
}

/// What is not shown by other means.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Other(message) | Failure::Usage(message) => f.write_str(message),
            Failure::Service(error) => error.fmt(f),
            Failure::Definition(error) => error.fmt(f),
            Failure::Agent(error) => error.fmt(f),
            Failure::Missing(missing) => missing.fmt(f),
            _ => Ok(()),
        }
    }
}
