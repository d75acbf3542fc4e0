//! Helpers: functions of the format, written in Rust. Presets consist of helpers, and a host can
//! add its own.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use quillet_core::{Map, Value};

use super::ast::{BlockBody, BranchArm};
use super::eval::{Scope, ScopedValue};
use crate::{ErrorKind, RenderError, StopReason, structure};

/// The result of a helper.
#[derive(Clone, Debug, PartialEq)]
pub enum HelperResult {
    /// A value, which is valid in output and as an argument. In output it is escaped like other
    /// values.
    Value(Value),
    /// Text that is never escaped.
    Safe(String),
    /// No value: the helper has already written its output.
    Written,
}

impl From<Value> for HelperResult {
    fn from(value: Value) -> Self {
        HelperResult::Value(value)
    }
}
impl From<String> for HelperResult {
    fn from(text: String) -> Self {
        HelperResult::Value(text.into())
    }
}
impl From<&str> for HelperResult {
    fn from(text: &str) -> Self {
        HelperResult::Value(text.into())
    }
}
impl From<bool> for HelperResult {
    fn from(value: bool) -> Self {
        HelperResult::Value(value.into())
    }
}

type HelperFn = dyn Fn(&mut HelperCall<'_>) -> Result<HelperResult, StopReason> + Send + Sync;

/// A registered helper.
#[derive(Clone)]
pub(super) struct Helper {
    run: Arc<HelperFn>,
    pub(super) effect: Effect,
}

/// Effect of a helper in addition to its result. The engine uses it if a call is skipped because it
/// depends on a pending call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    None,
    /// The helper sets the variable named by its first argument or by `name`.
    Sets,
    /// The helper may set any variable.
    Unknown,
}

impl Helper {
    pub(super) fn new(
        effect: Effect,
        run: impl Fn(&mut HelperCall<'_>) -> Result<HelperResult, StopReason> + Send + Sync + 'static,
    ) -> Self {
        let run = Arc::new(run);
        Helper { run, effect }
    }

    pub(super) fn call(&self, call: &mut HelperCall<'_>) -> Result<HelperResult, StopReason> {
        (self.run)(call)
    }
}

impl fmt::Debug for Helper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Helper")
    }
}

/// Helper that a name refers to at compile time.
#[derive(Clone, Debug)]
pub(super) enum Callee {
    If,
    Unless,
    Each,
    With,
    Lookup,
    Log,
    Native(Helper),
}

impl Callee {
    /// Returns the helper of handlebars.js with this name.
    pub(super) fn builtin(name: &str) -> Option<Self> {
        Some(match name {
            "if" => Callee::If,
            "unless" => Callee::Unless,
            "each" => Callee::Each,
            "with" => Callee::With,
            "lookup" => Callee::Lookup,
            "log" => Callee::Log,
            _ => return None,
        })
    }
}

/// Names of the helpers of handlebars.js.
pub(super) const BUILTIN: [&str; 6] = ["each", "if", "log", "lookup", "unless", "with"];

/// The branches of a block.
#[derive(Clone, Copy)]
pub(super) struct Branches<'c> {
    pub(super) body: Option<&'c BlockBody>,
    /// The following branches of the `else if` chain, without the final one.
    pub(super) rest: &'c [BranchArm],
    pub(super) otherwise: Option<&'c BlockBody>,
}

/// Functions of the evaluation, as helpers need them.
pub(super) trait Host {
    fn write(&mut self, text: &str) -> Result<(), StopReason>;
    fn steps(&mut self, count: usize) -> Result<(), StopReason>;
    fn charge(&mut self, bytes: usize) -> Result<(), StopReason>;
    fn text<'v>(&mut self, value: &'v Value) -> Result<Cow<'v, str>, StopReason>;
    fn body(
        &mut self,
        branches: &Branches<'_>,
        scope: &Scope<'_>,
        context: Option<&Value>,
        data: &[(&str, Value)],
    ) -> Result<(), StopReason>;
    fn otherwise(&mut self, branches: &Branches<'_>, scope: &Scope<'_>) -> Result<(), StopReason>;
    fn body_text(
        &mut self,
        branches: &Branches<'_>,
        scope: &Scope<'_>,
    ) -> Result<String, StopReason>;
    fn assign(&mut self, name: &str, value: Value) -> Result<(), StopReason>;
    fn variable(&self, name: &str) -> Option<Value>;
}

/// A call of a helper, through which the helper accesses its arguments, its block and its output.
#[expect(missing_debug_implementations, reason = "it borrows the evaluation")]
pub struct HelperCall<'c> {
    pub(super) host: &'c mut (dyn Host + 'c),
    pub(super) name: &'c str,
    pub(super) positional: &'c [ScopedValue<'c>],
    pub(super) named: &'c [(Arc<str>, ScopedValue<'c>)],
    pub(super) branches: Option<Branches<'c>>,
    pub(super) scope: &'c Scope<'c>,
}

impl<'c> HelperCall<'c> {
    /// Returns the name by which the template calls the helper.
    #[must_use]
    pub fn name(&self) -> &str {
        self.name
    }

    /// Returns the number of positional arguments.
    #[must_use]
    pub fn count(&self) -> usize {
        self.positional.len()
    }

    /// Returns a positional argument, counted from 0. Returns `None` if the argument is absent or a
    /// missing variable (JavaScript's `undefined`).
    #[must_use]
    pub fn argument(&self, index: usize) -> Option<&'c Value> {
        self.positional.get(index).and_then(ScopedValue::get)
    }

    /// Returns a named argument, or `None` under the same conditions as [`HelperCall::argument`].
    #[must_use]
    pub fn named(&self, name: &str) -> Option<&'c Value> {
        let (_, value) = self.named.iter().find(|(known, _)| **known == *name)?;
        value.get()
    }

    /// Returns all named arguments that have a value.
    #[must_use]
    pub fn all_named(&self) -> Map {
        let given = |(name, value): &(Arc<str>, ScopedValue<'_>)| {
            Some((name.clone(), value.get()?.clone()))
        };
        self.named.iter().filter_map(given).collect()
    }

    /// Returns the context of the call, which is `this` in the template.
    #[must_use]
    pub fn this(&self) -> Option<&'c Value> {
        self.scope.context.value
    }

    /// Returns whether the template calls the helper as a block.
    #[must_use]
    pub fn is_block(&self) -> bool {
        self.branches.is_some()
    }

    /// Returns the text that an argument prints as. The text is empty if the argument is missing or
    /// null.
    ///
    /// # Errors
    /// Returns an error if the step or memory limit is exceeded.
    pub fn text(&mut self, index: usize) -> Result<Cow<'c, str>, StopReason> {
        let value = self.argument(index);
        value.map_or(Ok(Cow::Borrowed("")), |value| self.text_of(value))
    }

    /// Returns the text that a value prints as.
    ///
    /// # Errors
    /// Returns an error if the step or memory limit is exceeded.
    pub fn text_of<'v>(&mut self, value: &'v Value) -> Result<Cow<'v, str>, StopReason> {
        self.host.text(value)
    }

    /// Writes text without escaping.
    ///
    /// # Errors
    /// Returns an error if the output limit is exceeded.
    pub fn write(&mut self, text: &str) -> Result<(), StopReason> {
        self.host.write(text)
    }

    /// Renders the body of the block in the outer context. Writes nothing if there is no block.
    ///
    /// # Errors
    /// Returns any error that ends the render in the body.
    pub fn body(&mut self) -> Result<(), StopReason> {
        self.body_with(self.this(), &[])
    }

    /// Renders the body in another context. `data` contains values such as `index`, which the body
    /// reads as `@index`.
    ///
    /// # Errors
    /// Returns any error that ends the render in the body.
    pub fn body_with(
        &mut self,
        context: Option<&Value>,
        data: &[(&str, Value)],
    ) -> Result<(), StopReason> {
        match self.branches {
            Some(branches) => self.host.body(&branches, self.scope, context, data),
            None => Ok(()),
        }
    }

    /// Renders the body of the block and returns the text. The text is invalid if a call in the
    /// body is pending; the render tracks this. Messages in the body become plain text.
    ///
    /// # Errors
    /// Returns any error that ends the render in the body.
    pub fn body_text(&mut self) -> Result<String, StopReason> {
        let text = self.marked_body()?;
        Ok(structure::unmarked(&text).unwrap_or(text))
    }

    /// Like [`HelperCall::body_text`], but keeps the marks of messages, for a helper that writes
    /// the text unchanged.
    pub(crate) fn marked_body(&mut self) -> Result<String, StopReason> {
        match self.branches {
            Some(branches) => self.host.body_text(&branches, self.scope),
            None => Ok(String::new()),
        }
    }

    /// Renders the `{{else}}` branch of the block.
    ///
    /// # Errors
    /// Returns any error that ends the render in the branch.
    pub fn otherwise(&mut self) -> Result<(), StopReason> {
        match self.branches {
            Some(branches) => self.host.otherwise(&branches, self.scope),
            None => Ok(()),
        }
    }

    /// Sets a variable for the rest of the evaluation.
    ///
    /// # Errors
    /// Returns an error if the memory limit is exceeded.
    pub fn assign(&mut self, name: &str, value: Value) -> Result<(), StopReason> {
        self.host.assign(name, value)
    }

    /// Returns a variable by its name.
    #[must_use]
    pub fn variable(&self, name: &str) -> Option<Value> {
        self.host.variable(name)
    }

    /// Counts steps towards the step limit in advance, one for each item to visit.
    ///
    /// # Errors
    /// Returns an error if the step or time limit is exceeded.
    pub fn steps(&mut self, count: usize) -> Result<(), StopReason> {
        self.host.steps(count)
    }

    /// Counts the bytes of a string or list towards the memory limit before the value is built.
    ///
    /// # Errors
    /// Returns an error if the memory limit is exceeded.
    pub fn charge(&mut self, bytes: usize) -> Result<(), StopReason> {
        self.host.charge(bytes)
    }

    /// Creates an error of this helper for the given reason.
    #[must_use]
    pub fn fail(&self, reason: impl fmt::Display) -> StopReason {
        let reason = format!("{}: {reason}", self.name);
        RenderError::new(ErrorKind::Execution, reason).into()
    }
}
