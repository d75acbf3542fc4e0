//! Why a piece of JavaScript gave nothing.

use std::fmt;

use quillet_core::Value;
use serde::{Deserialize, Serialize};

/// The kind of a [`JsError`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum JsErrorKind {
    /// The code does not parse.
    Syntax,
    /// A name that neither the runtime nor JavaScript knows.
    Unknown {
        /// The name as the code has it.
        name: String,
    },
    /// The code threw, or called something that failed.
    Thrown,
    /// The code ran longer than it may.
    Time,
    /// The code wants more memory than it may have.
    Memory,
    /// Functions call each other too deeply.
    Stack,
    /// It waits for a promise that nothing is left to settle.
    Stuck,
    /// A value cannot leave JavaScript: it contains itself, is nested too deeply or is too large.
    Data,
    /// A module was not found or cannot be loaded.
    Module,
    /// Something that nobody granted; the message names the grant.
    Denied,
    /// JavaScript was stopped because of another piece, or could not be started.
    Killed,
    /// This build cannot run it.
    Missing,
}

/// A place in a piece of code: both count from 1, columns in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodePosition {
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1.
    pub column: u32,
}

/// One line of a stack trace, innermost first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StackFrame {
    /// The function, or empty.
    pub function: String,
    /// In which code.
    pub code: Code,
    /// Where in it.
    pub place: CodePosition,
}

/// Which code a place is in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Code {
    /// The expression that was evaluated.
    Expression,
    /// A function that was defined.
    Function(super::id::FunctionId),
    /// A module file.
    File(String),
}

/// A failure of JavaScript, or of what it called.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JsError {
    /// What kind.
    pub kind: JsErrorKind,
    /// In words, as JavaScript has it: `TypeError: x is not a function`.
    pub message: String,
    /// What was thrown, if it is not an `Error`.
    pub value: Option<Value>,
    /// Where, innermost first: frames inside of the engine itself are omitted.
    pub stack: Vec<StackFrame>,
    /// A mark that the runtime set on a failure of its own ([`JsError::marked`]): it stays on the
    /// exception while it goes through JavaScript, so that the first cause is found again.
    pub mark: Option<u64>,
}

impl JsError {
    /// A failure without a place.
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

    /// What a directive that fails hands to JavaScript: an exception with these words.
    #[must_use]
    pub fn thrown(message: impl Into<String>) -> Self {
        JsError::new(JsErrorKind::Thrown, message)
    }

    /// The same with a mark of the runtime's own.
    #[must_use]
    pub fn marked(mut self, mark: u64) -> Self {
        self.mark = Some(mark);
        self
    }

    /// Where it happened: the innermost place that is known.
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
