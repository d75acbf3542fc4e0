//! Late-bound functions, as the render loop sees them.

use std::sync::Arc;

use quillet_core::{BoxFuture, Map, Value};

use crate::structure::strip_value;

/// Arguments of one call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CallArguments {
    /// In the order in which the template gives them.
    pub positional: Vec<Value>,
    /// By name, in formats that have such.
    pub named: Map,
}

impl CallArguments {
    /// The same, without the marks of message structure: a tool must not learn
    /// what would let its answer pass for structure.
    pub(crate) fn without_marks(self) -> Self {
        // What stands in for a result is to a tool what it was made of.
        let meant = |value: Value| strip_value(value.meant().clone());
        let positional = self.positional.into_iter().map(meant).collect();
        let named = if self.named.table().values().any(Value::is_fallback) {
            let named = self.named.iter();
            named
                .map(|(key, value)| (Arc::clone(key), value.meant().clone()))
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

/// The error of a late-bound call.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub struct CallError {
    /// What the template's author should read.
    pub message: String,
}

impl CallError {
    /// An error with this text.
    pub fn new(message: impl Into<String>) -> Self {
        CallError {
            message: message.into(),
        }
    }
}

/// The functions that exist at render time. One render sees one snapshot.
///
/// An error that this returns ends the render. To have a failed call leave a default in the text,
/// return the default as [`Value::standing_in`]: a template that looks into it finds nothing, in
/// every format, and goes on.
pub trait FunctionHost: Send + Sync {
    /// Whether there is a function of that name.
    fn contains(&self, name: &str) -> bool;

    /// Names of all functions, to suggest one for a mistyped name.
    fn names(&self) -> Vec<&str>;

    /// Whether equal calls within one render may share one result.
    fn idempotent(&self, name: &str) -> bool {
        let _ = name;
        false
    }

    /// The names of a function's parameters, in order, where they are known.
    /// Formats whose calls take variables by name (Semantic Kernel's, and those
    /// without arguments) need them.
    fn parameters(&self, name: &str) -> Option<Vec<String>> {
        let _ = name;
        None
    }

    /// What is to be the same when the render is made once more; `None` where the clock and chance
    /// say it. Asked once for each.
    fn fixed(&self) -> Option<RenderSeed> {
        None
    }

    /// Whether the host wants the render to end. Asked now and then while a template is evaluated,
    /// about every thousand steps.
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

/// What a render takes from outside of its variables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RenderSeed {
    /// What time it is.
    pub now: std::time::SystemTime,
    /// What random values are made from.
    pub seed: u64,
}

/// No late-bound functions at all.
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
