//! Why a script did not give a result.

use std::fmt;

use quillet_core::chat::ModelError;
use quillet_core::{Diagnostic, ErrorCode, Value};

/// The kind of a [`ScriptError`]. Codes are stable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The text is not a script, or names something that does not exist.
    Script,
    /// Arguments do not fit the script's `input`.
    Input,
    /// The model's answer does not have the form that `output` asks for.
    Output,
    /// A script, package, module or file was not found.
    NotFound,
    /// Something was called that the caller may not call.
    MethodNotAllowed,
    /// Reading, writing, starting or connecting that nobody allowed.
    Denied,
    /// A limit was reached: time, steps, depth, memory or bytes.
    Limit,
    /// JavaScript or another language threw.
    Thrown,
    /// The model or its provider failed.
    Model,
    /// A tool failed.
    Tool,
    /// A template did not render.
    Template,
    /// `$abort`, or whoever runs the script ended it.
    Aborted,
    /// This build cannot do it.
    Missing,
}

impl ErrorKind {
    /// Its stable code.
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

/// A failed run: what, where, how to fix it, and what was there until then.
#[derive(Clone, Debug)]
pub struct ScriptError {
    /// What kind of failure.
    pub kind: ErrorKind,
    /// All diagnostics; the first says what ended the run. Never empty.
    pub diagnostics: Vec<Diagnostic>,
    /// Scripts that were being run, outermost first.
    pub chain: Vec<String>,
    /// What a model had written before it was cut, or a value that was thrown.
    pub partial: Option<Value>,
    /// The provider's failure, for kind `Model`.
    pub model: Option<Box<ModelError>>,
}

impl ScriptError {
    /// A failure with one finding.
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

    /// A failure whose place is not known yet.
    #[must_use]
    pub fn plain(kind: ErrorKind, source: &str, message: impl Into<String>) -> Self {
        ScriptError::new(kind, Diagnostic::error(kind.code(), source, message))
    }

    /// What ended the run, in words.
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
