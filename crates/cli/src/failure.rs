//! Errors of the commands, with their exit codes.

use std::fmt;
use std::io;

use quillet::settings::SettingsError;
use quillet::{Error, LocatedDiagnostic};
use quillet_agent::AgentError;
use quillet_core::build::FeatureDisabled;
use quillet_core::chat::ModelError;
use quillet_core::store::{StoreError, StoreErrorKind};
use quillet_core::{ErrorCode, Exit};
use quillet_host::agent::{DecideError, ForkError};
use quillet_host::definitions::DefinitionError;
use quillet_prompt::ServiceError;

/// Error of a command.
#[derive(Debug)]
pub(crate) enum CliError {
    /// A file, a process or a service failed.
    Other(String),
    /// The command line, the environment or a setting is invalid.
    Usage(String),
    /// A configuration file is invalid.
    Config(SettingsError),
    /// Templates or variables are invalid, with the diagnostics.
    Findings(Vec<LocatedDiagnostic>),
    /// The prompt service failed.
    Service(Box<ServiceError>),
    /// A definition or version is unknown or cannot be saved.
    Definition(Box<DefinitionError>),
    /// An agent run failed.
    Agent(Box<AgentError>),
    /// The reader of the output closed the pipe.
    ClosedPipe,
    /// The user pressed Control-C.
    Interrupted,
    /// The build lacks a feature.
    Missing(FeatureDisabled),
    /// The error was already reported.
    Said(Exit),
}

impl CliError {
    /// Returns the exit code.
    pub(crate) fn exit(&self) -> Exit {
        match self {
            CliError::Other(_) => Exit::Failure,
            CliError::Usage(_) | CliError::Config(_) | CliError::Missing(_) => Exit::Usage,
            CliError::Findings(_) => Exit::Template,
            CliError::Service(error) => error.root_code().exit(),
            CliError::Definition(error) => error.code().exit(),
            CliError::Agent(error) => error.root_code().exit(),
            CliError::ClosedPipe => Exit::ClosedPipe,
            CliError::Interrupted => Exit::Interrupted,
            CliError::Said(exit) => *exit,
        }
    }
}

impl From<AgentError> for CliError {
    fn from(error: AgentError) -> Self {
        CliError::Agent(Box::new(error))
    }
}

impl From<DecideError> for CliError {
    fn from(error: DecideError) -> Self {
        of_run(error.code(), &error.to_string())
    }
}

impl From<ForkError> for CliError {
    fn from(error: ForkError) -> Self {
        of_run(error.code(), &error.to_string())
    }
}

/// Creates the error of a durable run, with its code and fix.
fn of_run(code: ErrorCode, message: &str) -> CliError {
    let help = code.help();
    let message = format!("{message} [{code}]\n  help: {help}");
    match code.exit() {
        Exit::Usage => CliError::Usage(message),
        _ => CliError::Other(message),
    }
}

impl From<DefinitionError> for CliError {
    fn from(error: DefinitionError) -> Self {
        match error {
            DefinitionError::Store(error) => error.into(),
            error => CliError::Definition(Box::new(error)),
        }
    }
}

impl From<ServiceError> for CliError {
    fn from(error: ServiceError) -> Self {
        CliError::Service(Box::new(error))
    }
}

impl From<StoreError> for CliError {
    fn from(error: StoreError) -> Self {
        match error.kind {
            // An invalid store address is a usage error, not a failure of the store.
            StoreErrorKind::Configuration | StoreErrorKind::Missing => {
                CliError::Usage(error.message)
            }
            _ => ServiceError::from(error).into(),
        }
    }
}

impl From<ModelError> for CliError {
    fn from(error: ModelError) -> Self {
        ServiceError::from(error).into()
    }
}

impl From<Error> for CliError {
    fn from(error: Error) -> Self {
        match error {
            Error::Setting(message) => CliError::Usage(message.as_str().to_owned()),
            Error::Config(wrong) => CliError::Config(wrong),
            Error::Findings(found) => CliError::Findings(found),
            Error::Service(error) => CliError::Service(error),
            Error::Agent(error) => CliError::Agent(error),
            Error::Missing(missing) => CliError::Missing(missing),
            other => CliError::Other(other.to_string()),
        }
    }
}

/// Converts an error of writing the result.
impl From<io::Error> for CliError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            // The reader, such as `head`, has closed the pipe; no message is needed.
            io::ErrorKind::BrokenPipe => CliError::ClosedPipe,
            _ => CliError::Other(format!("cannot write the result: {error}")),
        }
    }
}

/// Formats errors that are not reported elsewhere.
impl fmt::Display for CliError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CliError::Other(message) | CliError::Usage(message) => f.write_str(message),
            CliError::Service(error) => error.fmt(f),
            CliError::Definition(error) => error.fmt(f),
            CliError::Agent(error) => error.fmt(f),
            CliError::Missing(missing) => missing.fmt(f),
            _ => Ok(()),
        }
    }
}
