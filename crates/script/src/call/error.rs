//! Errors of model calls.

use std::fmt;

use quillet_core::Value;
use quillet_core::chat::{ModelError, ModelErrorKind};

use crate::{ErrorKind, ScriptError};

/// Error of a model call that produced no usable answer.
#[derive(Clone, Debug)]
pub struct CallError {
    /// The kind.
    pub kind: ErrorKind,
    /// The problem in one sentence without a full stop.
    pub message: String,
    /// How to fix the problem.
    pub help: Option<String>,
    /// The text that the model had written so far.
    pub partial: Option<String>,
    /// The origin of the error, unless that is the call itself.
    pub cause: Option<Cause>,
}

/// The origin of an error.
#[derive(Clone, Debug)]
pub enum Cause {
    /// The model or its provider.
    Model(Box<ModelError>),
    /// The observer of the call ([`super::CallObserver`]) ended it.
    Watcher(Box<ScriptError>),
}

impl CallError {
    /// Creates an error whose origin is the call itself.
    #[must_use]
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        CallError {
            kind,
            message: message.into(),
            help: None,
            partial: None,
            cause: None,
        }
    }

    /// Adds a help text.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Adds the text that the model had written, unless the text is empty.
    #[must_use]
    pub fn partial(mut self, text: &str) -> Self {
        if !text.is_empty() {
            self.partial = Some(text.to_owned());
        }
        self
    }

    /// Converts the error to a script error. The caller must add the location to the first
    /// diagnostic.
    #[must_use]
    pub fn into_script_error(self, source: &str) -> ScriptError {
        let (model, watcher) = match self.cause {
            Some(Cause::Watcher(error)) => (None, Some(*error)),
            Some(Cause::Model(error)) => (Some(error), None),
            None => (None, None),
        };
        let mut error =
            watcher.unwrap_or_else(|| ScriptError::plain(self.kind, source, self.message));
        if let (Some(first), Some(help)) = (error.diagnostics.first_mut(), self.help) {
            first.help.get_or_insert(help);
        }
        error.partial = error.partial.or(self.partial.map(Value::from));
        error.model = error.model.or(model);
        error
    }
}

impl From<ModelError> for CallError {
    fn from(error: ModelError) -> Self {
        let kind = match error.kind {
            ModelErrorKind::Timeout => ErrorKind::Limit,
            _ => ErrorKind::Model,
        };
        CallError {
            cause: Some(Cause::Model(Box::new(error.clone()))),
            ..CallError::new(kind, error.message)
        }
    }
}

impl From<ScriptError> for CallError {
    fn from(error: ScriptError) -> Self {
        CallError {
            cause: Some(Cause::Watcher(Box::new(error.clone()))),
            ..CallError::new(error.kind, error.message())
        }
    }
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match &self.help {
            Some(help) => write!(f, " ({help})"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for CallError {}
