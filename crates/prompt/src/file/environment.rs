//! Environment of a prompt file. The caller provides environment variables, other files and named
//! schemas, so that an untrusted file cannot read anything by itself.

use std::fmt;
use std::path::Path;

use serde_json::Value as Tree;

/// Resolver of a prompt file's references. By default it provides nothing: no environment, no other
/// files, no named schemas.
pub trait FileEnvironment {
    /// An environment variable, for `${env:NAME}`; `None` if it is not set.
    ///
    /// # Errors
    /// Returns an error if the variable must not be read.
    fn variable(&self, name: &str) -> Result<Option<String>, AccessError> {
        let _ = name;
        Err(AccessError::Closed)
    }

    /// Text of another file, for `${file:path}`. The path is relative to the folder of the prompt
    /// file and has no `..`; implementations must not follow links that leave the folder.
    ///
    /// # Errors
    /// Returns an error if the file must not or cannot be read.
    fn file(&self, path: &str) -> Result<String, AccessError> {
        let _ = path;
        Err(AccessError::Closed)
    }

    /// Whether references below `connection` are resolved too. By default they are left unresolved,
    /// because connections mostly hold secrets and are not used here.
    fn fills_connections(&self) -> bool {
        false
    }

    /// Returns the JSON Schema with this name, for Picoschema.
    fn schema(&self, name: &str) -> Option<Tree> {
        let _ = name;
        None
    }
}

/// Error of a reference that cannot be resolved.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AccessError {
    /// The environment does not provide such references.
    #[error("it is not available here")]
    Closed,
    /// The path leads out of the folder of the prompt file.
    #[error("it is outside allowed roots (the folder of the prompt file)")]
    Outside,
    /// The operator must allow it first; the text names the setting.
    #[error("{0}")]
    NotAllowed(String),
    /// The file does not exist or cannot be read.
    #[error("{0}")]
    Unreadable(String),
}

/// An environment without variables, files or schemas.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoEnvironment;

impl FileEnvironment for NoEnvironment {}

/// Provides environments by folder.
pub trait EnvironmentProvider: Send + Sync + fmt::Debug {
    /// Returns the environment for files in this folder.
    fn around(&self, folder: &Path) -> Box<dyn FileEnvironment>;

    /// Returns the environment for a file in a database, which is empty by default.
    fn anywhere(&self) -> Box<dyn FileEnvironment> {
        Box::new(NoEnvironment)
    }
}

impl EnvironmentProvider for NoEnvironment {
    fn around(&self, _: &Path) -> Box<dyn FileEnvironment> {
        Box::new(NoEnvironment)
    }
}
