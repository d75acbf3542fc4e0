//! Environment of a prompt file. Environment variables, other files and schemas by name are
//! provided by the caller, so that an untrusted file reads nothing on its own.

use std::fmt;
use std::path::Path;

use serde_json::Value as Tree;

/// Resolver of a prompt file's references. By default it provides nothing: no environment, no other
/// files, no named schemas.
pub trait FileEnvironment {
    /// An environment variable, for `${env:NAME}`; `None` if it is not set.
    ///
    /// # Errors
    /// The reason why it is not available.
    fn variable(&self, name: &str) -> Result<Option<String>, AccessError> {
        let _ = name;
        Err(AccessError::Closed)
    }

    /// Text of another file, for `${file:path}`. The path is relative to the folder of the prompt
    /// file and has no `..`; implementations must not follow links that leave the folder.
    ///
    /// # Errors
    /// The reason why it is not available.
    fn file(&self, path: &str) -> Result<String, AccessError> {
        let _ = path;
        Err(AccessError::Closed)
    }

    /// Whether references below `connection` are resolved too. Connections are not used here, and
    /// they mostly hold secrets, so by default they stay as written.
    fn fills_connections(&self) -> bool {
        false
    }

    /// A JSON Schema by its name, for Picoschema.
    fn schema(&self, name: &str) -> Option<Tree> {
        let _ = name;
        None
    }
}

/// Error of a reference that is not resolved.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AccessError {
    /// The environment does not provide such references.
    #[error("it is not available here")]
    Closed,
    /// The path leads out of the folder of the prompt file.
    #[error("it is outside allowed roots: the folder of the prompt file")]
    Outside,
    /// The operator must allow it first; the text names the setting.
    #[error("{0}")]
    NotAllowed(String),
    /// There is no such file, or it cannot be read.
    #[error("{0}")]
    Unreadable(String),
}

/// Empty environment.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoEnvironment;

impl FileEnvironment for NoEnvironment {}

/// Provides environments by folder.
pub trait EnvironmentProvider: Send + Sync + fmt::Debug {
    /// Environment of a file in that folder.
    fn around(&self, folder: &Path) -> Box<dyn FileEnvironment>;

    /// Environment of a file in a database; empty by default.
    fn anywhere(&self) -> Box<dyn FileEnvironment> {
        Box::new(NoEnvironment)
    }
}

impl EnvironmentProvider for NoEnvironment {
    fn around(&self, _: &Path) -> Box<dyn FileEnvironment> {
        Box::new(NoEnvironment)
    }
}
