//! Why a script did not give a result.

use std::fmt;

use quillet_core::chat::ModelError;
use quillet_core::{Diagnostic, Value};

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
    pub fn code(self) -> &'static str {
        match self {
            ErrorKind::Script => "script.invalid",
            ErrorKind::Input => "script.input",
            ErrorKind::Output => "script.output",
            ErrorKind::NotFound => "script.not_found",
            ErrorKind::MethodNotAllowed => "MethodNotAllowed",
            ErrorKind::Denied => "script.denied",
            ErrorKind::Limit => "script.limit",
            ErrorKind::Thrown => "script.thrown",
            ErrorKind::Model => "script.model",
            ErrorKind::Tool => "script.tool",
            ErrorKind::Template => "script.template",
            ErrorKind::Aborted => "script.aborted",
            ErrorKind::Missing => quillet_core::build::CODE,
        }
    }
}

/// A failed run: what, where, how to fix it, and what was there until then.
#[derive(Clone, Debug)]
pub struct ScriptError {
    /// What kind of failure.
    pub kind: ErrorKind,
    /// All findings; the first says what ended the run. Never empty.
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
