//! Where a name stands: loops, branches, callbacks and links of a chain bind names for what is
//! inside of them. A scope never changes, so a message can keep the one it was written in.

use std::sync::Arc;

use quillet_core::Value;

use crate::syntax::ScriptSource;

/// Names that are bound here, and those around.
#[derive(Clone, Debug)]
pub(crate) struct NameScope {
    /// The text that is being run: where its findings point to.
    pub(crate) source: Arc<ScriptSource>,
    /// Functions that were called inside of each other to get here.
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

    /// A scope inside of this one.
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

    /// This scope inside of so many calls of functions.
    pub(crate) fn after(mut self, calls: u8) -> Self {
        self.calls = calls;
        self
    }

    /// The value of a name that is bound here; the inner value may be undefined.
    pub(crate) fn get(&self, name: &str) -> Option<Option<&Value>> {
        let mut at = self.names.as_deref();
        while let Some(names) = at {
            if let Some((_, value)) = names.bound.iter().rev().find(|(key, _)| &**key == name) {
                return Some(value.as_ref());
            }
            at = names.around.as_deref();
        }
        None
    }

    /// All bound names with their values, outermost first, so that inner ones win when they are
    /// written into one table.
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
