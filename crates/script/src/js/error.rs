//! Errors of JavaScript.

use std::fmt;

use quillet_core::Value;
use serde::{Deserialize, Serialize};

/// The kind of a [`JsError`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum JsErrorKind {
    /// The code has a syntax error.
    Syntax,
    /// A name that neither the runtime nor JavaScript defines.
    Unknown {
        /// The name as written in the code.
        name: String,
    },
    /// The code threw an exception, or called something that failed.
    Thrown,
    /// The code exceeded its time limit.
    Time,
    /// The code exceeded its memory limit.
    Memory,
    /// Calls are nested too deeply for the stack.
    Stack,
    /// The code waits for a promise that can never settle.
    Stuck,
    /// A value cannot be passed out of JavaScript: it is cyclic, nested too deeply or too large.
    Data,
    /// A module was not found or cannot be loaded.
    Module,
    /// A permission is missing; the message names it.
    Denied,
    /// JavaScript was stopped because of another job, or could not be started.
    Killed,
    /// The feature is disabled in this build.
    Missing,
}

/// A position in code. Both numbers count from 1, columns in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodePosition {
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1.
    pub column: u32,
}

/// A frame of a stack trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StackFrame {
    /// The function name, or empty.
    pub function: String,
    /// The code that contains the frame.
    pub code: Code,
    /// The position in that code.
    pub place: CodePosition,
}

/// The code that a position refers to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Code {
    /// The expression that was evaluated.
    Expression,
    /// A defined function.
    Function(super::id::FunctionId),
    /// A module file.
    File(String),
}

/// An error in JavaScript, or in a function that JavaScript called.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JsError {
    /// The kind.
    pub kind: JsErrorKind,
    /// The message as JavaScript formats it, such as `TypeError: x is not a function`.
    pub message: String,
    /// The thrown value, if it is not an `Error`.
    pub value: Option<Value>,
    /// The stack, innermost frame first, without frames of the engine itself.
    pub stack: Vec<StackFrame>,
    /// A number that identifies an error of the runtime ([`JsError::marked`]). JavaScript
    /// exceptions keep the mark, so that the runtime can find the original error.
    pub mark: Option<u64>,
}

impl JsError {
    /// Creates an error without a position.
    #[must_use]
    pub fn new(kind: JsErrorKind, message: impl Into<String>) -> Self {
        JsError {
            kind,
            message: message.into(),
            value: None,
            stack: Vec::new(),
            mark: None,
        }
    }

    /// Creates the exception that JavaScript receives from a failed directive.
    #[must_use]
    pub fn thrown(message: impl Into<String>) -> Self {
        JsError::new(JsErrorKind::Thrown, message)
    }

    /// Sets the mark by which the runtime recognizes the error.
    #[must_use]
    pub fn marked(mut self, mark: u64) -> Self {
        self.mark = Some(mark);
        self
    }

    /// Returns the innermost known position.
    #[must_use]
    pub fn place(&self) -> Option<&StackFrame> {
        self.stack.first()
    }
}

impl fmt::Display for JsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for JsError {}
