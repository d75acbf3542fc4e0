//! Native functions: names, signatures and code.

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use crate::pass::{Pass, StopReason};

use super::exec::Caller;
use super::types::GoType;
use super::value::GoValue;

/// Implementation of a native function. The engine checks the number and types of the arguments
/// before the call.
pub type NativeFn = fn(&mut FunctionContext<'_, '_>, &[GoValue]) -> Result<GoValue, FunctionError>;

/// A native function. The function runs during an evaluation, uses no external resources, and
/// returns the same value for the same arguments in every pass.
///
/// # Examples
///
/// ```
/// # use futures_util::FutureExt;
/// # use quillet_core::{Map, Value};
/// # use quillet_template::*;
/// use quillet_template::format::go::{
///     FunctionContext, FunctionError, GoFormat, GoFunction, GoType, GoValue,
/// };
///
/// fn shout(_: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> Result<GoValue, FunctionError> {
///     let bytes = args.first().and_then(GoValue::as_bytes).unwrap_or_default();
///     Ok(bytes.to_ascii_uppercase().into())
/// }
///
/// let shout = GoFunction::new("shout", &[GoType::String], shout);
/// let format = GoFormat::new().with_functions(&[shout]);
/// let source = TemplateSource::new("p", "Hello {{shout .name}}!");
/// let template = format.compile(&[source], &CompileOptions::default())?;
/// let variables = Map::from([("name", "Ada")]);
/// # let job = Render {
/// #     template: &*template,
/// #     entries: &["p"],
/// #     variables: &variables,
/// #     functions: &NoFunctions,
/// #     limits: &RenderLimits::default(),
/// # };
/// # let rendered = render(&job).now_or_never().unwrap()?;
/// assert_eq!(rendered.text(0), "Hello ADA!");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct GoFunction {
    /// Name by which templates call the function.
    pub name: &'static str,
    /// Types of the parameters. If `variadic` is set, the last type applies to all further
    /// arguments.
    pub params: &'static [GoType],
    /// Whether the last parameter accepts any number of arguments, including none.
    pub variadic: bool,
    /// Type of the function, for `%T` and errors about function values.
    pub go_type: GoType,
    /// Implementation of the function.
    pub run: NativeFn,
    /// Effect of a call in addition to its value.
    pub effect: Effect,
}

/// Effect of a native function in addition to its value. The engine needs this information if a
/// call cannot be made because an argument is pending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// No effect.
    None,
    /// Affects the following text: the function changes a value in place, draws a random number, or
    /// can end the render on purpose.
    Lasts,
    /// Evaluates a template, so the call has the template's effects.
    Includes,
}

impl GoFunction {
    /// Creates a function that has a fixed number of parameters.
    #[must_use]
    pub const fn new(name: &'static str, params: &'static [GoType], run: NativeFn) -> Self {
        GoFunction {
            name,
            params,
            variadic: false,
            go_type: GoType::Named("func(...)"),
            run,
            effect: Effect::None,
        }
    }

    /// Declares that calls of this function affect the following text. If an argument is pending,
    /// the text after the call is not evaluated in this pass.
    #[must_use]
    pub const fn with_effect(self) -> Self {
        GoFunction {
            effect: Effect::Lasts,
            ..self
        }
    }

    pub(super) const fn including(self) -> Self {
        GoFunction {
            effect: Effect::Includes,
            ..self
        }
    }

    /// Creates a function whose last parameter is repeated.
    #[must_use]
    pub const fn variadic(name: &'static str, params: &'static [GoType], run: NativeFn) -> Self {
        GoFunction {
            variadic: true,
            ..GoFunction::new(name, params, run)
        }
    }
}

/// Error of a native function.
#[derive(Debug)]
pub enum FunctionError {
    /// An error that Go would return too. The executor adds `error calling NAME: `.
    Message(String),
    /// An exceeded limit, or a pending value.
    Stop(StopReason),
    /// The value depends on a pending call.
    Pending,
}

impl From<StopReason> for FunctionError {
    fn from(stop: StopReason) -> Self {
        FunctionError::Stop(stop)
    }
}
impl From<String> for FunctionError {
    fn from(message: String) -> Self {
        FunctionError::Message(message)
    }
}
impl From<&str> for FunctionError {
    fn from(message: &str) -> Self {
        FunctionError::Message(message.to_owned())
    }
}

/// State that functions store between calls of one evaluation.
#[derive(Default)]
pub struct FunctionState(Vec<Box<dyn Any>>);

impl fmt::Debug for FunctionState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("State").field(&self.0.len()).finish()
    }
}

impl FunctionState {
    /// Returns the state of this type. The state is created on first use.
    pub fn get<T: Default + 'static>(&mut self) -> &mut T {
        let known = self.0.iter().position(|entry| entry.is::<T>());
        let index = known.unwrap_or_else(|| {
            self.0.push(Box::new(T::default()));
            self.0.len() - 1
        });
        match self.0[index].downcast_mut() {
            Some(value) => value,
            None => unreachable!("the entry was found by its type"),
        }
    }
}

/// Evaluation context of a native function.
#[derive(Debug)]
pub struct FunctionContext<'c, 'p> {
    pub(super) pass: &'c mut Pass<'p>,
    pub(super) state: &'c mut FunctionState,
    pub(super) caller: Caller<'c>,
}

impl FunctionContext<'_, '_> {
    /// Counts bytes that the function is about to build towards the memory limit.
    ///
    /// # Errors
    /// Returns an error if the memory limit is exceeded.
    pub fn charge(&mut self, bytes: usize) -> Result<(), FunctionError> {
        Ok(self.pass.charge(bytes)?)
    }

    /// Counts elements that the function is about to visit or create towards the step limit.
    ///
    /// # Errors
    /// Returns an error if the step or time limit is exceeded.
    pub fn steps(&mut self, count: usize) -> Result<(), FunctionError> {
        Ok(self.pass.steps(count)?)
    }

    /// Returns the largest size in bytes that the memory limit allows for a string.
    #[must_use]
    pub fn room(&self) -> usize {
        self.pass.limits().memory_bytes
    }

    /// Returns the start time of the render, which is the same in all of its passes.
    #[must_use]
    pub fn now(&self) -> SystemTime {
        self.pass.now()
    }

    /// Evaluates the template with this name and returns its output. `dot` is the value of `.` in
    /// the template.
    ///
    /// # Errors
    /// Returns an error if the template does not exist, fails, or waits for a call.
    pub fn include(&mut self, name: &str, dot: GoValue) -> Result<GoValue, FunctionError> {
        super::exec::include(self, name, dot)
    }

    /// Returns the seed for random values, which is the same in all passes of an entry.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.pass.seed()
    }

    /// Returns the state that this function, or its family of functions, keeps within one
    /// evaluation.
    pub fn state<T: Default + 'static>(&mut self) -> &mut T {
        self.state.get()
    }

    /// Returns the error for a string that exceeds the memory limit.
    #[must_use]
    pub fn too_large(&self) -> FunctionError {
        self.pass
            .limit(crate::limits::LimitKind::MemoryBytes)
            .into()
    }
}

/// Native functions by name. If several functions have the same name, the last function is used.
#[derive(Clone, Debug, Default)]
pub struct FunctionMap(
    Arc<std::collections::HashMap<&'static str, GoFunction, foldhash::fast::RandomState>>,
);

impl FunctionMap {
    /// Adds functions.
    #[must_use]
    pub fn with(mut self, functions: &[GoFunction]) -> Self {
        let table = Arc::make_mut(&mut self.0);
        table.extend(functions.iter().map(|function| (function.name, *function)));
        self
    }

    /// Iterates over the names of all functions.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().copied()
    }

    /// Returns the function with this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&GoFunction> {
        self.0.get(name)
    }
}
