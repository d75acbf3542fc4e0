//! Error of a script.

use std::fmt;

use quillet_core::chat::ModelError;
use quillet_core::{Diagnostic, ErrorCode};

/// The error of a script.
#[derive(Clone, Debug)]
pub struct ScriptFailure {
    /// The script.
    pub id: String,
    /// Stable code, such as `script.input`.
    pub code: ErrorCode,
    /// All diagnostics. The first diagnostic describes the error that ended the run.
    pub diagnostics: Vec<Diagnostic>,
    /// The active scripts, outermost first.
    pub chain: Vec<String>,
    /// The provider's error, if that was the cause.
    pub model: Option<ModelError>,
}

impl fmt::Display for ScriptFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "script {:?}: ", self.id)?;
        match self.diagnostics.first() {
            Some(first) => first.fmt(f),
            None => self.code.fmt(f),
        }
    }
}
