//! Errors of the library.

use std::fmt;

use quillet_agent::AgentError;
use quillet_core::build::FeatureDisabled;
use quillet_core::chat::ModelError;
use quillet_core::store::{StoreError, StoreErrorKind};
use quillet_core::{Diagnostic, ErrorCode, Severity};
use quillet_prompt::ServiceError;
use quillet_script::ScriptError;
#[cfg(feature = "sql")]
use quillet_sql::SqlError;

use crate::settings::SettingsError;

/// Errors of the library.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// A setting is invalid. The message has its origin and the expected value.
    Setting(ErrorMessage),
    /// A configuration file is invalid, with the diagnostics.
    Config(SettingsError),
    /// A data file is invalid, with the diagnostics.
    Findings(Vec<LocatedDiagnostic>),
    /// A file, a folder or a process failed.
    Other(ErrorMessage),
    /// The prompt service failed: a prompt, a variable, a tool, the store or the model.
    Service(Box<ServiceError>),
    /// An agent run failed.
    Agent(Box<AgentError>),
    /// A script failed.
    Script(Box<ScriptError>),
    /// A database question failed.
    #[cfg(feature = "sql")]
    Database(Box<SqlError>),
    /// The build lacks a feature; the error names it.
    Missing(FeatureDisabled),
}

/// The text of an error, and the error that caused it.
#[derive(Debug)]
pub struct ErrorMessage {
    text: String,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl ErrorMessage {
    /// Returns the text, which includes the text of the cause.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    pub(crate) fn prefixed(mut self, prefix: &str) -> Self {
        self.text = format!("{prefix}: {}", self.text);
        self
    }
}

/// The part of the library that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A setting or a configuration file is invalid.
    Setting,
    /// An input file is invalid.
    Input,
    /// The operating system, a file or a process failed.
    System,
    /// The prompt service failed: a prompt, a variable, a tool, the store or the model.
    Service,
    /// An agent run failed.
    Agent,
    /// A script failed.
    Script,
    /// A question to a database failed.
    Database,
    /// This build lacks a feature.
    FeatureDisabled,
}

impl Error {
    pub(crate) fn setting(text: String) -> Self {
        Error::Setting(ErrorMessage { text, source: None })
    }

    pub(crate) fn setting_from(
        text: String,
        source: impl std::error::Error + Send + Sync + 'static,
    ) -> Self {
        let source = Some(source.into());
        Error::Setting(ErrorMessage { text, source })
    }

    pub(crate) fn other(text: String) -> Self {
        Error::Other(ErrorMessage { text, source: None })
    }

    pub(crate) fn other_from(
        text: String,
        source: impl std::error::Error + Send + Sync + 'static,
    ) -> Self {
        let source = Some(source.into());
        Error::Other(ErrorMessage { text, source })
    }

    /// Returns the stable code, such as `render.missing_variable`; `docs/errors.md` lists them.
    /// An invalid input file has the code of its first diagnostic.
    ///
    /// ```
    /// # tokio::runtime::Runtime::new()?.block_on(async {
    /// let error = quillet::Quillet::open("redis:://").await.unwrap_err();
    /// assert_eq!(error.code(), "setting.invalid");
    /// assert_eq!(error.kind(), quillet::ErrorKind::Setting);
    /// assert!(!error.is_retryable());
    /// # });
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Error::Findings(found) => match found.first() {
                Some(first) => first.diagnostic.code,
                None => ErrorCode::SystemFailed.as_str(),
            },
            other => other.table_code().as_str(),
        }
    }

    /// Returns the part of the library that failed.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Error::Setting(_) | Error::Config(_) => ErrorKind::Setting,
            Error::Findings(_) => ErrorKind::Input,
            Error::Other(_) => ErrorKind::System,
            Error::Service(_) => ErrorKind::Service,
            Error::Agent(_) => ErrorKind::Agent,
            Error::Script(_) => ErrorKind::Script,
            #[cfg(feature = "sql")]
            Error::Database(_) => ErrorKind::Database,
            Error::Missing(_) => ErrorKind::FeatureDisabled,
        }
    }

    /// Returns whether the same request may succeed when it is retried.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match self {
            // The innermost cause decides, because a prompt that calls another prompt fails for the
            // same reason.
            Error::Service(error) => error.root_code().retryable(),
            Error::Agent(error) => error.root_code().retryable(),
            Error::Findings(_) => false,
            other => other.table_code().retryable(),
        }
    }

    fn table_code(&self) -> ErrorCode {
        match self {
            Error::Setting(_) | Error::Config(_) => ErrorCode::SettingInvalid,
            Error::Findings(_) | Error::Other(_) => ErrorCode::SystemFailed,
            Error::Service(error) => error.code(),
            Error::Agent(error) => error.code(),
            Error::Script(error) => error.kind.code(),
            #[cfg(feature = "sql")]
            Error::Database(error) => error.code(),
            Error::Missing(_) => ErrorCode::FeatureMissing,
        }
    }
}

/// A diagnostic, and the text that its location refers to.
#[derive(Clone, Debug)]
pub struct LocatedDiagnostic {
    /// The diagnostic with its location.
    pub diagnostic: Diagnostic,
    /// The text, if it is available.
    pub text: Option<String>,
}

impl LocatedDiagnostic {
    /// Creates a diagnostic without its text.
    #[must_use]
    pub fn without_text(diagnostic: Diagnostic) -> Self {
        LocatedDiagnostic {
            diagnostic,
            text: None,
        }
    }

    /// Returns whether the diagnostic is an error, not a warning.
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.diagnostic.severity == Severity::Error
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Setting(message) | Error::Other(message) => f.write_str(&message.text),
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

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Setting(message) | Error::Other(message) => {
                // The cast drops `Send` and `Sync`, which the signature does not have.
                message.source.as_deref().map(|source| source as _)
            }
            // These messages already contain their diagnostics, which have no cause.
            Error::Config(_) | Error::Findings(_) => None,
            Error::Service(error) => Some(&**error),
            Error::Agent(error) => Some(&**error),
            Error::Script(error) => Some(&**error),
            #[cfg(feature = "sql")]
            Error::Database(error) => Some(&**error),
            Error::Missing(missing) => Some(missing),
        }
    }
}

impl From<ServiceError> for Error {
    fn from(error: ServiceError) -> Self {
        Error::Service(Box::new(error))
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        match error.kind {
            // The address of the store is invalid or its feature is missing, so the user must
            // change a setting.
            StoreErrorKind::Configuration | StoreErrorKind::Missing => {
                Error::setting_from(error.message.clone(), error)
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
