//! The contract between a prompt file and whoever reads it: environment variables, other files and
//! schemas by name are handed out, never taken, so that a file from a stranger reads nothing by
//! itself.

use std::fmt;
use std::path::Path;

use serde_json::Value as Tree;

/// What a prompt file may ask for while it is read. By default there is
/// nothing: no environment, no other files, no named schemas.
pub trait FileEnvironment {
    /// An environment variable, for `${env:NAME}`; `None` if it is not set.
    ///
    /// # Errors
    /// Why not.
    fn variable(&self, name: &str) -> Result<Option<String>, AccessError> {
        let _ = name;
        Err(AccessError::Closed)
    }

    /// The text of another file, for `${file:path}`. The path is relative to the
    /// folder of the prompt file and has no `..`; whoever answers follows no link out of it.
    ///
    /// # Errors
    /// Why not.
    fn file(&self, path: &str) -> Result<String, AccessError> {
        let _ = path;
        Err(AccessError::Closed)
    }

    /// Whether references below `connection` are replaced too. Nothing here uses a
    /// connection, and what stands there is mostly a secret: so they stay as written.
    fn fills_connections(&self) -> bool {
        false
    }

    /// A JSON Schema by its name, for Picoschema.
    fn schema(&self, name: &str) -> Option<Tree> {
        let _ = name;
        None
    }
}

/// Why something was not handed out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AccessError {
    /// Whoever reads the prompt hands out nothing of that kind.
    #[error("it is not handed out here")]
    Closed,
    /// The path leads out of the folder of the prompt file.
    #[error("it is outside allowed roots: the folder of the prompt file")]
    Outside,
    /// Whoever runs the program has to allow it first; the text names the setting.
    #[error("{0}")]
    NotAllowed(String),
    /// There is no such file, or it cannot be read.
    #[error("{0}")]
    Unreadable(String),
}

/// Nothing around: what a file asks for is not there.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoEnvironment;

impl FileEnvironment for NoEnvironment {}

/// Hands out what prompt files ask for, by the folder that they are in.
pub trait EnvironmentProvider: Send + Sync + fmt::Debug {
    /// What a file in that folder may ask for.
    fn around(&self, folder: &Path) -> Box<dyn FileEnvironment>;

    /// What a file may ask for that is in no folder, but in a database: by default nothing.
    fn anywhere(&self) -> Box<dyn FileEnvironment> {
        Box::new(NoEnvironment)
    }
}

impl EnvironmentProvider for NoEnvironment {
    fn around(&self, _: &Path) -> Box<dyn FileEnvironment> {
        Box::new(NoEnvironment)
    }
}
