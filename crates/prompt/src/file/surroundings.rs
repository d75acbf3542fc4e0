//! What a prompt file may ask for.

use serde_json::Value as Tree;

/// What a prompt file may ask for while it is read. By default there is
/// nothing: no environment, no other files, no named schemas.
pub trait Surroundings {
    /// An environment variable, for `${env:NAME}`; `None` if it is not set.
    ///
    /// # Errors
    /// Why not.
    fn variable(&self, name: &str) -> Result<Option<String>, Refusal> {
        let _ = name;
        Err(Refusal::Closed)
    }

    /// The text of another file, for `${file:path}`. The path is relative to the
    /// folder of the prompt file and has no `..`; whoever answers follows no link out of it.
    ///
    /// # Errors
    /// Why not.
    fn file(&self, path: &str) -> Result<String, Refusal> {
        let _ = path;
        Err(Refusal::Closed)
    }

    /// A JSON Schema by its name, for Picoschema.
    fn schema(&self, name: &str) -> Option<Tree> {
        let _ = name;
        None
    }
}

/// Why something was not handed out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Whoever reads the prompt hands out nothing of that kind.
    #[error("it is not handed out here")]
    Closed,
    /// The path leads out of the folder of the prompt file.
    #[error("it is outside allowed roots: the folder of the prompt file")]
    Outside,
    /// There is no such file, or it cannot be read.
    #[error("{0}")]
    Unreadable(String),
}

/// Nothing around: what a file asks for is not there.
#[derive(Clone, Copy, Debug, Default)]
pub struct Alone;

impl Surroundings for Alone {}
