//! Lexical scopes. Loops, branches, callbacks and steps of a chain bind names for their content. A
//! scope is immutable, so a message can store the scope in which it was written.

use std::sync::Arc;

use quillet_core::Value;

use crate::syntax::ScriptSource;

/// Bound names, including those of the outer scopes.
#[derive(Clone, Debug)]
pub(crate) struct NameScope {
    /// The source that is being executed, to which diagnostics refer.
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
    /// Creates the outermost scope of a script's body.
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

    /// Returns this scope with another function call depth.
    pub(crate) fn after(mut self, calls: u8) -> Self {
        self.calls = calls;
        self
    }

    /// Returns the value of a bound name. The inner `None` means `undefined`.
    pub(crate) fn get(&self, name: &str) -> Option<Option<&Value>> {
        let mut at = self.names.as_deref();
        while let Some(names) = at {
            // Searched from the end, because a later binding in the same scope hides an earlier
            // one.
            if let Some((_, value)) = names.bound.iter().rev().find(|(key, _)| &**key == name) {
                return Some(value.as_ref());
            }
            at = names.around.as_deref();
        }
        None
    }

    /// Returns all bound names with their values, outermost first, so that inner values replace
    /// outer ones when inserted into a map.
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
