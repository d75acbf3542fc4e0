//! What JavaScript asks back of whoever runs it.

use quillet_core::{BoxFuture, Value};
use serde::{Deserialize, Serialize};

use super::error::JsError;
use super::id::{FunctionId, ModuleId};

/// Something that JavaScript has and that crosses its border: `undefined`, data, or a function
/// that stays where it is and is called by its id.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub enum JsValueRef {
    /// JavaScript's `undefined`.
    #[default]
    Undefined,
    /// Data.
    Value(#[serde(with = "super::wire")] Value),
    /// A function of this run's JavaScript.
    Function(FunctionId),
}

impl JsValueRef {
    /// The data; `None` for `undefined` and for functions, as JSON has neither.
    #[must_use]
    pub fn value(self) -> Option<Value> {
        match self {
            JsValueRef::Value(value) => Some(value),
            JsValueRef::Undefined | JsValueRef::Function(_) => None,
        }
    }
}

impl From<Option<Value>> for JsValueRef {
    fn from(value: Option<Value>) -> Self {
        value.map_or(JsValueRef::Undefined, JsValueRef::Value)
    }
}

impl From<Value> for JsValueRef {
    fn from(value: Value) -> Self {
        JsValueRef::Value(value)
    }
}

/// What can be called, or found under a name, inside of JavaScript.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum JsTarget {
    /// A defined function, or one that JavaScript handed out.
    Function(FunctionId),
    /// What a module exports: its names in order, `["posix", "join"]`. No name is the module
    /// itself: an object with all exports.
    Export(ModuleId, Vec<String>),
}

impl From<FunctionId> for JsTarget {
    fn from(function: FunctionId) -> Self {
        JsTarget::Function(function)
    }
}

/// The value of a name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum LookupResult {
    /// Nothing. As `this.x` it is `undefined`; as a bare name an error, unless JavaScript knows it.
    Missing,
    /// A variable that is `undefined`.
    Undefined,
    /// A variable.
    Value(#[serde(with = "super::wire")] Value),
    /// A directive or function of the host: calling it asks [`Runtime::call`] with the same name.
    Host,
    /// A function or module of this run's JavaScript: used immediately, without asking.
    Js(JsTarget),
}

/// The result of a call back to the host.
pub enum HostCallResult<'a> {
    /// It is done: JavaScript continues with the value, or the exception, immediately.
    Now(Result<JsValueRef, JsError>),
    /// JavaScript gets a promise. The future may start other JavaScript of the same run.
    Later(BoxFuture<'a, Result<JsValueRef, JsError>>),
}

impl std::fmt::Debug for HostCallResult<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            HostCallResult::Now(result) => f.debug_tuple("Now").field(result).finish(),
            HostCallResult::Later(_) => f.write_str("Later(…)"),
        }
    }
}

/// The level of a line of `console`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ConsoleLevel {
    /// `console.debug`, `console.log`, `console.info`.
    Info,
    /// `console.warn`.
    Warning,
    /// `console.error`.
    Error,
}

/// The runtime behind `this` and behind bare names, as one piece of JavaScript sees it.
///
/// None of the functions may block, and none is called while JavaScript of another piece is asked
/// for: all of them run inside the future of the piece that asks.
pub trait Runtime: Send + Sync {
    /// The value of a name, with its `$` if it was written with one.
    fn get(&self, name: &str) -> LookupResult;

    /// `this.name = value`, and objects that were got from here and changed in place.
    ///
    /// # Errors
    /// That the name may not be written: JavaScript sees an exception.
    fn set(&self, name: &str, value: JsValueRef) -> Result<(), JsError>;

    /// All names that `get` finds: `Object.keys(this)`.
    fn names(&self) -> Vec<String>;

    /// Calls what `get` said to be of the host.
    fn call<'a>(&'a self, name: &str, arguments: Vec<JsValueRef>) -> HostCallResult<'a>;

    /// A line that `console` was given.
    fn log(&self, level: ConsoleLevel, line: &str);
}
