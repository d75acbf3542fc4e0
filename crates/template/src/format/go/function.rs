//! Native functions: what they are called, what they take, how they run.

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use crate::pass::{Pass, StopReason};

use super::exec::Caller;
use super::types::GoType;
use super::value::GoValue;

/// The code of a native function. The arguments have the declared types: the
/// engine has checked them and their number.
pub type NativeFn = fn(&mut FunctionContext<'_, '_>, &[GoValue]) -> Result<GoValue, FunctionError>;

/// A native function: it runs inside an evaluation, needs nothing from
/// outside and gives the same value for the same arguments in every pass.
#[derive(Clone, Copy, Debug)]
pub struct GoFunction {
    /// Its name in templates.
    pub name: &'static str,
    /// Types of the parameters. The last one is repeated if `variadic`.
    pub params: &'static [GoType],
    /// Whether the last parameter takes any number of arguments, none included.
    pub variadic: bool,
    /// Its own type, for `%T` and errors about function values.
    pub go_type: GoType,
    /// The code.
    pub run: NativeFn,
    /// What a call does besides giving a value.
    pub effect: Effect,
}

/// What a call of a native function does besides giving a value. It matters where
/// a call has to be left out because an argument is pending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Nothing.
    None,
    /// What follows depends on it: it changes a value in place, draws a random
    /// number, or is there to end the render.
    Lasts,
    /// It evaluates a template, which does what is in it.
    Includes,
}

impl GoFunction {
    /// A function with a fixed number of parameters.
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

    /// The same for a function on whose call what follows depends: while an
    /// argument is pending, nothing behind it is evaluated.
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

    /// A function whose last parameter is repeated.
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
    /// A limit, or a value that is still pending.
    Stop(StopReason),
    /// The value depends on a call that is still pending.
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

/// What functions keep from one call to the next within one evaluation.
#[derive(Default)]
pub struct FunctionState(Vec<Box<dyn Any>>);

impl fmt::Debug for FunctionState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("State").field(&self.0.len()).finish()
    }
}

impl FunctionState {
    /// The value of that type, made when it is first asked for.
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

/// What a native function may use besides its arguments.
#[derive(Debug)]
pub struct FunctionContext<'c, 'p> {
    pub(super) pass: &'c mut Pass<'p>,
    pub(super) state: &'c mut FunctionState,
    pub(super) caller: Caller<'c>,
}

impl FunctionContext<'_, '_> {
    /// Counts bytes that the function is about to build.
    ///
    /// # Errors
    /// The limit on memory.
    pub fn charge(&mut self, bytes: usize) -> Result<(), FunctionError> {
        Ok(self.pass.charge(bytes)?)
    }

    /// Counts elements that the function is about to visit or make.
    ///
    /// # Errors
    /// The limit on steps, or on time.
    pub fn steps(&mut self, count: usize) -> Result<(), FunctionError> {
        Ok(self.pass.steps(count)?)
    }

    /// Most bytes that a text may have before it passes the limit on memory.
    #[must_use]
    pub fn room(&self) -> usize {
        self.pass.limits().memory_bytes
    }

    /// The time at which the render began: the same in every pass of it.
    #[must_use]
    pub fn now(&self) -> SystemTime {
        self.pass.now()
    }

    /// What a template of that name writes with this value as dot.
    ///
    /// # Errors
    /// There is no such template, it fails, or it waits for a call.
    pub fn include(&mut self, name: &str, dot: GoValue) -> Result<GoValue, FunctionError> {
        super::exec::include(self, name, dot)
    }

    /// What random values are made from: the same in every pass of one entry.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.pass.seed()
    }

    /// What this function, or its family, keeps within one evaluation.
    pub fn state<T: Default + 'static>(&mut self) -> &mut T {
        self.state.get()
    }

    /// The error for text that would be larger than the limit on memory.
    #[must_use]
    pub fn too_large(&self) -> FunctionError {
        self.pass
            .limit(crate::limits::LimitKind::MemoryBytes)
            .into()
    }
}

/// Native functions by name; a later one replaces an earlier one of its name.
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

    /// The names of all.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().copied()
    }

    /// The function of that name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&GoFunction> {
        self.0.get(name)
    }
}
