//! Interface that JavaScript uses to access its host.

use quillet_core::{BoxFuture, Value};
use serde::{Deserialize, Serialize};

use super::error::JsError;
use super::id::{FunctionId, ModuleId};

/// A value that passes between JavaScript and its host: `undefined`, data, or a function. A
/// function stays in JavaScript and is called by its id.
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
    /// Returns the value if it is data. The result is `None` for `undefined` and for functions,
    /// because JSON has neither.
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

/// A JavaScript value that can be called or read by name.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum JsTarget {
    /// A defined function, or one that JavaScript returned.
    Function(FunctionId),
    /// A value in a module, by a path of export names: `["posix", "join"]`. An empty path is the
    /// module itself, an object with all exports.
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
    /// Undefined. As `this.x` the value is `undefined`; as a bare name it is an error, unless
    /// JavaScript defines it.
    Missing,
    /// A variable whose value is `undefined`.
    Undefined,
    /// A variable.
    Value(#[serde(with = "super::wire")] Value),
    /// A directive or function of the host. Calling it invokes [`Runtime::call`] with the same
    /// name.
    Host,
    /// A function or module of this run's JavaScript, which is used without a call to the host.
    Js(JsTarget),
}

/// The result of a call back to the host.
pub enum HostCallResult<'a> {
    /// The call is complete. JavaScript continues immediately with the value or the exception.
    Now(Result<JsValueRef, JsError>),
    /// JavaScript receives a promise. The future may run other JavaScript of the same run.
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

/// Level of a line that JavaScript writes to `console`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ConsoleLevel {
    /// `console.debug`, `console.log`, `console.info`.
    Info,
    /// `console.warn`.
    Warning,
    /// `console.error`.
    Error,
}

/// Access of one JavaScript job to the host, through `this` and bare names.
///
/// The methods must not block. The methods are called only while the future of their job is polled.
pub trait Runtime: Send + Sync {
    /// Returns the value of a name, including its `$` if it was written with one.
    fn get(&self, name: &str) -> LookupResult;

    /// Sets a name: `this.name = value`, or an object from `get` that was changed in place.
    ///
    /// # Errors
    /// The name is read-only. JavaScript receives an exception.
    fn set(&self, name: &str, value: JsValueRef) -> Result<(), JsError>;

    /// Returns all names that `get` finds, for `Object.keys(this)`.
    fn names(&self) -> Vec<String>;

    /// Calls a name for which `get` returned [`LookupResult::Host`].
    fn call<'a>(&'a self, name: &str, arguments: Vec<JsValueRef>) -> HostCallResult<'a>;

    /// Handles a line of `console` output.
    fn log(&self, level: ConsoleLevel, line: &str);
}
