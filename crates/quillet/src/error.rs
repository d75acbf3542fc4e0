//! Why a part could not be made, or did not do what it was asked.

use std::fmt;

use quillet_agent::AgentError;
use quillet_core::build::FeatureDisabled;
use quillet_core::chat::ModelError;
use quillet_core::store::{StoreError, StoreErrorKind};
use quillet_core::{Diagnostic, Severity};
use quillet_prompt::ServiceError;
use quillet_script::ScriptError;
#[cfg(feature = "sql")]
use quillet_sql::SqlError;

use crate::settings::SettingsError;

/// Why a part could not be made, or did not do what it was asked.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// A setting is wrong; the text names it, where it came from and what it must be.
    Setting(String),
    /// A configuration file is wrong, at these places.
    Config(SettingsError),
    /// A file of data is wrong, at these places.
    Findings(Vec<LocatedDiagnostic>),
    /// Something outside (a file, a folder, a process) did not do what it should.
    Other(String),
    /// The prompt service did not do what it was asked: a prompt, a variable, a tool, the store, the
    /// model.
    Service(Box<ServiceError>),
    /// A run of an agent failed.
    Agent(Box<AgentError>),
    /// A script failed.
    Script(Box<ScriptError>),
    /// A question to a database has no answer.
    #[cfg(feature = "sql")]
    Database(Box<SqlError>),
    /// This build cannot do it; it names the feature that can.
    Missing(FeatureDisabled),
}

/// A finding, and the text that its place points into.
#[derive(Clone, Debug)]
pub struct LocatedDiagnostic {
    /// What was found, and where.
    pub diagnostic: Diagnostic,
    /// The text, where it is at hand.
    pub text: Option<String>,
}

impl LocatedDiagnostic {
    /// A finding whose text is not at hand.
    #[must_use]
    pub fn without_text(diagnostic: Diagnostic) -> Self {
        LocatedDiagnostic {
            diagnostic,
            text: None,
        }
    }

    /// Whether it is more than a warning.
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.diagnostic.severity == Severity::Error
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Setting(message) | Error::Other(message) => f.write_str(message),
            Error::Config(wrong) => all(f, wrong.found.iter()),
            Error::Findings(found) => all(f, found.iter().map(|finding| &finding.diagnostic)),
            Error::Service(error) => error.fmt(f),
            Error::Agent(error) => error.fmt(f),
            Error::Script(error) => error.fmt(f),
            #[cfg(feature = "sql")]
            Error::Database(error) => error.fmt(f),
            Error::Missing(missing) => missing.fmt(f),
        }
    }
}

fn all<'a>(f: &mut fmt::Formatter<'_>, found: impl Iterator<Item = &'a Diagnostic>) -> fmt::Result {
    for (index, diagnostic) in found.enumerate() {
        let gap = if index == 0 { "" } else { "\n" };
        write!(f, "{gap}{diagnostic}")?;
    }
    Ok(())
}

impl std::error::Error for Error {}

impl From<ServiceError> for Error {
    fn from(error: ServiceError) -> Self {
        Error::Service(Box::new(error))
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        match error.kind {
            StoreErrorKind::Configuration | StoreErrorKind::Missing => {
                Error::Setting(error.message)
            }
            _ => ServiceError::from(error).into(),
        }
    }
}

impl From<ModelError> for Error {
    fn from(error: ModelError) -> Self {
        ServiceError::from(error).into()
    }
}

impl From<AgentError> for Error {
    fn from(error: AgentError) -> Self {
        Error::Agent(Box::new(error))
    }
}

impl From<ScriptError> for Error {
    fn from(error: ScriptError) -> Self {
        Error::Script(Box::new(error))
    }
}

#[cfg(feature = "sql")]
impl From<SqlError> for Error {
    fn from(error: SqlError) -> Self {
        Error::Database(Box::new(error))
    }
}
