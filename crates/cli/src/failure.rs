//! Why a command failed, and which exit code says so.

use std::fmt;
use std::io;

use quillet::settings::Wrong;
use quillet::{Error, Finding};
use quillet_agent::AgentError;
use quillet_core::build::Missing;
use quillet_core::chat::ModelError;
use quillet_core::store::{StoreError, StoreErrorKind};
use quillet_prompt::ServiceError;

/// Exit codes, besides 0 for success.
pub(crate) mod code {
    /// Something failed.
    pub(crate) const FAILURE: u8 = 1;
    /// The command line or the configuration is wrong (also clap's).
    pub(crate) const USAGE: u8 = 2;
    /// A template is broken, or a variable is missing or wrong.
    pub(crate) const TEMPLATE: u8 = 3;
    /// The model did not answer.
    pub(crate) const PROVIDER: u8 = 4;
    /// It was refused by a permission.
    pub(crate) const REFUSED: u8 = 5;
    /// The reader of the output left: what a shell shows for SIGPIPE.
    pub(crate) const CLOSED_PIPE: u8 = 141;
    /// Interrupted: what a shell shows for SIGINT.
    pub(crate) const INTERRUPTED: u8 = 130;
}

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
    /// A run of an agent failed.
    Agent(Box<AgentError>),
    /// The reader of the output left.
    ClosedPipe,
    /// The user pressed control-C.
    Interrupted,
    /// This build cannot do it.
    Missing(Missing),
    /// It was said already.
    Said(u8),
}

impl Failure {
    /// The exit code.
    pub(crate) fn code(&self) -> u8 {
        match self {
            Failure::Other(_) => code::FAILURE,
            Failure::Usage(_) | Failure::Config(_) | Failure::Missing(_) => code::USAGE,
            Failure::Findings(_) => code::TEMPLATE,
            Failure::Service(error) => of_service(error),
            Failure::Agent(error) => of_agent(error),
            Failure::ClosedPipe => code::CLOSED_PIPE,
            Failure::Interrupted => code::INTERRUPTED,
            Failure::Said(code) => *code,
        }
    }
}

fn of_service(error: &ServiceError) -> u8 {
    match error {
        ServiceError::NotFound { .. } => code::FAILURE,
        ServiceError::Store(error) if error.kind == StoreErrorKind::Refused => code::REFUSED,
        ServiceError::Store(_) => code::FAILURE,
        ServiceError::Model { .. } => code::PROVIDER,
        ServiceError::Script(failure) if failure.model.is_some() => code::PROVIDER,
        ServiceError::Invalid { .. }
        | ServiceError::Variables { .. }
        | ServiceError::Missing { .. }
        | ServiceError::UnknownFunctions { .. }
        | ServiceError::Script(_)
        | ServiceError::Depth { .. }
        | ServiceError::Render(_) => code::TEMPLATE,
    }
}

fn of_agent(error: &AgentError) -> u8 {
    match error {
        AgentError::Setup {
            code: "server_error" | "internal_error",
            ..
        } => code::FAILURE,
        AgentError::Setup { .. } => code::USAGE,
        AgentError::Model(_) | AgentError::Window { .. } | AgentError::Time(_) => code::PROVIDER,
    }
}

impl From<AgentError> for Failure {
    fn from(error: AgentError) -> Self {
        Failure::Agent(Box::new(error))
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
            Failure::Agent(error) => error.fmt(f),
            Failure::Missing(missing) => missing.fmt(f),
            _ => Ok(()),
        }
    }
}
