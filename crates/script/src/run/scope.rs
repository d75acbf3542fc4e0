//! Lexical scopes: loops, branches, callbacks and links of a chain bind names for their content.
//! A scope is immutable, so a message can keep the scope in which it was written.

use std::sync::Arc;

use quillet_core::Value;

use crate::syntax::ScriptSource;

/// Bound names, with those of the outer scopes.
#[derive(Clone, Debug)]
pub(crate) struct NameScope {
    /// The source of the running text, to which diagnostics refer.
    pub(crate) source: Arc<ScriptSource>,
    /// Depth of nested function calls.
    pub(crate) calls: u8,
    names: Option<Arc<ScopeNames>>,
}

#[derive(Debug)]
struct ScopeNames {
    bound: Vec<(Arc<str>, Option<Value>)>,
    around: Option<Arc<ScopeNames>>,
}

impl NameScope {
    /// The outermost scope of a script's body.
    pub(crate) fn of(source: &Arc<ScriptSource>) -> Self {
        NameScope {
            source: source.clone(),
            calls: 0,
            names: None,
        }
    }

    /// Returns a nested scope.
    pub(crate) fn with(&self, bound: Vec<(Arc<str>, Option<Value>)>) -> Self {
        if bound.is_empty() {
            return self.clone();
        }
        let around = self.names.clone();
        NameScope {
            source: self.source.clone(),
            calls: self.calls,
            names: Some(Arc::new(ScopeNames { bound, around })),
        }
    }

    /// Returns this scope at a depth of function calls.
    pub(crate) fn after(mut self, calls: u8) -> Self {
        self.calls = calls;
        self
    }

    /// Returns the value of a bound name; the inner `None` is `undefined`.
    pub(crate) fn get(&self, name: &str) -> Option<Option<&Value>> {
        let mut at = self.names.as_deref();
        while let Some(names) = at {
            // From the end: a later binding of the same scope hides an earlier one.
            if let Some((_, value)) = names.bound.iter().rev().find(|(key, _)| &**key == name) {
                return Some(value.as_ref());
            }
            at = names.around.as_deref();
        }
        None
    }

    /// Returns all bound names with their values, outermost first, so that inner ones replace outer
    /// ones in a table.
    pub(crate) fn bound(&self) -> Vec<(Arc<str>, Value)> {
        let mut layers = Vec::new();
        let mut at = self.names.as_deref();
        while let Some(names) = at {
            layers.push(names);
            at = names.around.as_deref();
        }
        let pairs = layers.iter().rev().flat_map(|layer| layer.bound.iter());
        pairs
            .filter_map(|(key, value)| Some((key.clone(), value.clone()?)))
            .collect()
    }
}
