//! Errors of scripts.

use std::fmt;

use quillet_core::chat::ModelError;
use quillet_core::{Diagnostic, ErrorCode, Value};

/// The kind of a [`ScriptError`]. The codes do not change between versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The text is not a valid script, or names something that does not exist.
    Script,
    /// The arguments do not match the script's `input`.
    Input,
    /// The model's answer does not have the form that `output` requires.
    Output,
    /// A script, package, module or file was not found.
    NotFound,
    /// The caller is not allowed to make this call.
    MethodNotAllowed,
    /// A permission is missing for reading, writing, starting a process or connecting.
    Denied,
    /// A limit was exceeded: time, steps, depth, memory or bytes.
    Limit,
    /// JavaScript or another language threw an exception.
    Thrown,
    /// The model or its provider failed.
    Model,
    /// A tool failed.
    Tool,
    /// A template could not be rendered.
    Template,
    /// Ended by `$abort` or by the caller of the run.
    Aborted,
    /// The feature is disabled in this build.
    Missing,
}

impl ErrorKind {
    /// Returns the stable error code.
    #[must_use]
    pub fn code(self) -> ErrorCode {
        match self {
            ErrorKind::Script => ErrorCode::ScriptInvalid,
            ErrorKind::Input => ErrorCode::ScriptInput,
            ErrorKind::Output => ErrorCode::ScriptOutput,
            ErrorKind::NotFound => ErrorCode::ScriptNotFound,
            ErrorKind::MethodNotAllowed => ErrorCode::ScriptMethodNotAllowed,
            ErrorKind::Denied => ErrorCode::ScriptDenied,
            ErrorKind::Limit => ErrorCode::ScriptLimit,
            ErrorKind::Thrown => ErrorCode::ScriptThrown,
            ErrorKind::Model => ErrorCode::ScriptModel,
            ErrorKind::Tool => ErrorCode::ScriptTool,
            ErrorKind::Template => ErrorCode::ScriptTemplate,
            ErrorKind::Aborted => ErrorCode::ScriptAborted,
            ErrorKind::Missing => ErrorCode::FeatureMissing,
        }
    }
}

/// Error of a failed run, which includes the location, a fix, and the partial result.
#[derive(Clone, Debug)]
pub struct ScriptError {
    /// The kind.
    pub kind: ErrorKind,
    /// All diagnostics. The first diagnostic describes the error that ended the run. Never empty.
    pub diagnostics: Vec<Diagnostic>,
    /// The running scripts, outermost first.
    pub chain: Vec<String>,
    /// The text that a model had written before the error, or a thrown value.
    pub partial: Option<Value>,
    /// The error of the provider, for kind `Model`.
    pub model: Option<Box<ModelError>>,
}

impl ScriptError {
    /// Creates an error that has a single diagnostic.
    #[must_use]
    pub fn new(kind: ErrorKind, diagnostic: Diagnostic) -> Self {
        ScriptError {
            kind,
            diagnostics: vec![diagnostic],
            chain: Vec::new(),
            partial: None,
            model: None,
        }
    }

    /// Creates an error without a location.
    #[must_use]
    pub fn plain(kind: ErrorKind, source: &str, message: impl Into<String>) -> Self {
        ScriptError::new(kind, Diagnostic::error(kind.code(), source, message))
    }

    /// Returns the message of the first diagnostic.
    #[must_use]
    pub fn message(&self) -> &str {
        match self.diagnostics.first() {
            Some(first) => &first.message,
            None => "the script failed",
        }
    }
}

impl fmt::Display for ScriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.diagnostics.first() {
            Some(first) => first.fmt(f),
            None => f.write_str(self.message()),
        }
    }
}

impl std::error::Error for ScriptError {}
