//! Native functions: names, signatures and code.

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use crate::pass::{Pass, StopReason};

use super::exec::Caller;
use super::types::GoType;
use super::value::GoValue;

/// Code of a native function. The engine has checked the number and types of the arguments.
pub type NativeFn = fn(&mut FunctionContext<'_, '_>, &[GoValue]) -> Result<GoValue, FunctionError>;

/// A native function. It runs inside an evaluation, needs no external resources, and returns the
/// same value for the same arguments in every pass.
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
    /// Name in templates.
    pub name: &'static str,
    /// Types of the parameters. The last one is repeated if `variadic`.
    pub params: &'static [GoType],
    /// Whether the last parameter accepts any number of arguments, including none.
    pub variadic: bool,
    /// Type of the function, for `%T` and errors about function values.
    pub go_type: GoType,
    /// Code of the function.
    pub run: NativeFn,
    /// Effect of a call besides its value.
    pub effect: Effect,
}

/// Effect of a native function besides its value. It matters if a call must be skipped because an
/// argument is pending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// No effect.
    None,
    /// Affects the following text: it changes a value in place, draws a random number, or exists to
    /// end the render.
    Lasts,
    /// Evaluates a template, with the template's effects.
    Includes,
}

impl GoFunction {
    /// Creates a function with a fixed number of parameters.
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

    /// Creates a function whose calls affect the following text: while an argument is pending,
    /// nothing after it is evaluated.
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

/// The error of a native function.
#[derive(Debug)]
pub enum FunctionError {
    /// An error as Go would return it: the executor adds `error calling NAME: `.
    Message(String),
    /// A limit, or a pending value.
    Stop(StopReason),
    /// Creates the error for a value that depends on a pending call.
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

/// State that functions keep between calls within one evaluation.
#[derive(Default)]
pub struct FunctionState(Vec<Box<dyn Any>>);

impl fmt::Debug for FunctionState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("State").field(&self.0.len()).finish()
    }
}

impl FunctionState {
    /// Returns the state of this type, created at first use.
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

/// Context that a native function may use in addition to its arguments.
#[derive(Debug)]
pub struct FunctionContext<'c, 'p> {
    pub(super) pass: &'c mut Pass<'p>,
    pub(super) state: &'c mut FunctionState,
    pub(super) caller: Caller<'c>,
}

impl FunctionContext<'_, '_> {
    /// Charges bytes that the function is about to build.
    ///
    /// # Errors
    /// Returns an error at the limit on memory.
    pub fn charge(&mut self, bytes: usize) -> Result<(), FunctionError> {
        Ok(self.pass.charge(bytes)?)
    }

    /// Charges elements that the function is about to visit or create.
    ///
    /// # Errors
    /// Returns an error at the limit on steps or on time.
    pub fn steps(&mut self, count: usize) -> Result<(), FunctionError> {
        Ok(self.pass.steps(count)?)
    }

    /// Returns how many bytes a text may have within the limit on memory.
    #[must_use]
    pub fn room(&self) -> usize {
        self.pass.limits().memory_bytes
    }

    /// Returns the time at which the render began: equal in all of its passes.
    #[must_use]
    pub fn now(&self) -> SystemTime {
        self.pass.now()
    }

    /// Evaluates the template with this name, with this value as dot, and returns its output.
    ///
    /// # Errors
    /// Returns an error if the template does not exist, fails, or waits for a call.
    pub fn include(&mut self, name: &str, dot: GoValue) -> Result<GoValue, FunctionError> {
        super::exec::include(self, name, dot)
    }

    /// Returns the seed of random values: equal in all passes of one entry.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.pass.seed()
    }

    /// Returns the state that this function, or its family, keeps within one evaluation.
    pub fn state<T: Default + 'static>(&mut self) -> &mut T {
        self.state.get()
    }

    /// Returns the error for text above the limit on memory.
    #[must_use]
    pub fn too_large(&self) -> FunctionError {
        self.pass
            .limit(crate::limits::LimitKind::MemoryBytes)
            .into()
    }
}

/// Native functions by name; a later one replaces an earlier one with the same name.
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

    /// Yields the names of all functions.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().copied()
    }

    /// Returns the function with this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&GoFunction> {
        self.0.get(name)
    }
}
