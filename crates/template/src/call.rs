//! Late-bound functions and their calls.

use std::sync::Arc;

use quillet_core::{BoxFuture, Map, Value};

use crate::structure::strip_value;

/// Arguments of one call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CallArguments {
    /// Positional arguments, in order.
    pub positional: Vec<Value>,
    /// Named arguments, in formats that support them.
    pub named: Map,
}

impl CallArguments {
    /// Returns the arguments without the marks of message structure. A tool that knew the marks
    /// could forge structure in its result.
    pub(crate) fn without_marks(self) -> Self {
        // A tool receives the inner value of a fallback.
        let meant = |value: Value| strip_value(value.represented_value().clone());
        let positional = self.positional.into_iter().map(meant).collect();
        let named = if self.named.table().values().any(Value::is_fallback) {
            let named = self.named.iter();
            named
                .map(|(key, value)| (Arc::clone(key), value.represented_value().clone()))
                .collect()
        } else {
            self.named
        };
        match strip_value(Value::Map(named)) {
            Value::Map(named) => CallArguments { positional, named },
            _ => CallArguments::from(positional),
        }
    }
}

impl From<Vec<Value>> for CallArguments {
    fn from(positional: Vec<Value>) -> Self {
        CallArguments {
            positional,
            named: Map::default(),
        }
    }
}

/// Error of a late-bound call.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub struct CallError {
    /// Message for the template's author.
    pub message: String,
}

impl CallError {
    /// Creates an error with this message.
    pub fn new(message: impl Into<String>) -> Self {
        CallError {
            message: message.into(),
        }
    }
}

/// The functions available at render time. A render uses the same snapshot of functions from start
/// to end.
///
/// An error from [`FunctionHost::call`] ends the render. To continue after a failed call, return a
/// fallback value made with [`Value::into_fallback`]. In every format, accessing a missing field of
/// a fallback value is not an error.
///
/// # Examples
///
/// ```
/// # use futures_util::FutureExt;
/// use quillet_core::{BoxFuture, Map, Value};
/// use quillet_template::{CallArguments, CallError, FunctionHost};
/// # use quillet_template::*;
///
/// struct Weather;
///
/// impl FunctionHost for Weather {
///     fn contains(&self, name: &str) -> bool {
///         name == "weather"
///     }
///     fn names(&self) -> Vec<&str> {
///         vec!["weather"]
///     }
///     fn call<'a>(
///         &'a self,
///         _: &'a str,
///         arguments: CallArguments,
///     ) -> BoxFuture<'a, Result<Value, CallError>> {
///         Box::pin(async move {
///             match arguments.positional.first().and_then(Value::as_str) {
///                 Some(city) => Ok(Value::from(format!("sunny in {city}"))),
///                 None => Err(CallError::new("weather needs a city")),
///             }
///         })
///     }
/// }
///
/// let source = TemplateSource::new("p", r#"It is {{ weather("Oslo") }}."#);
/// # let formats = TemplateFactory::standard();
/// let template = formats.compile("jinja", &[source], &CompileOptions::default())?;
/// # let variables = Map::default();
/// # let job = Render {
/// #     template: &*template,
/// #     entries: &["p"],
/// #     variables: &variables,
/// #     functions: &Weather,
/// #     limits: &RenderLimits::default(),
/// # };
/// let rendered = render_polled(&job, false).now_or_never().unwrap()?;
/// assert_eq!(rendered.text(0), "It is sunny in Oslo.");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait FunctionHost: Send + Sync {
    /// Whether a function with this name exists.
    fn contains(&self, name: &str) -> bool;

    /// Returns the names of all functions, for suggestions on a typo.
    fn names(&self) -> Vec<&str>;

    /// Whether equal calls within one render may share one result.
    fn idempotent(&self, name: &str) -> bool {
        let _ = name;
        false
    }

    /// Returns the names of a function's parameters in order, if known. Formats whose calls pass
    /// variables by name (Semantic Kernel's, and those without arguments) need them.
    fn parameters(&self, name: &str) -> Option<Vec<String>> {
        let _ = name;
        None
    }

    /// Returns the fixed clock and random seed of a reproducible render, or `None` to use the real
    /// ones. Called separately for the clock and for the seed.
    fn fixed(&self) -> Option<RenderSeed> {
        None
    }

    /// Whether the host wants to end the render. Checked about once per thousand steps of an
    /// evaluation.
    fn interrupted(&self) -> bool {
        false
    }

    /// Calls a function. Dropping the future cancels the call.
    fn call<'a>(
        &'a self,
        name: &'a str,
        arguments: CallArguments,
    ) -> BoxFuture<'a, Result<Value, CallError>>;
}

/// External inputs that are fixed for a render.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RenderSeed {
    /// Current time.
    pub now: std::time::SystemTime,
    /// Seed of random values.
    pub seed: u64,
}

/// An empty set of late-bound functions.
#[derive(Clone, Copy, Debug)]
pub struct NoFunctions;

impl FunctionHost for NoFunctions {
    fn contains(&self, _: &str) -> bool {
        false
    }
    fn names(&self) -> Vec<&str> {
        Vec::new()
    }
    fn call<'a>(
        &'a self,
        name: &'a str,
        _: CallArguments,
    ) -> BoxFuture<'a, Result<Value, CallError>> {
        Box::pin(async move { Err(CallError::new(format!("function {name} is not defined"))) })
    }
}
