//! Name scopes of an evaluation.
//!
//! Names set by `assign` and `capture` are visible everywhere afterwards. Loops and partials have
//! scopes for their own names. Inside `render` no outer names are visible, not even the variables.

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use quillet_core::{Map, Value as Data};
use smallvec::SmallVec;

use super::value::{ForLoop, Value};

type NameTable<T> = HashMap<Arc<str>, T, foldhash::fast::RandomState>;

/// Names and state of a template and of the templates that it includes.
#[derive(Debug, Default)]
pub(super) struct RenderScope<'p> {
    /// The variables. `None` inside `render`.
    variables: Option<&'p Map>,
    /// Assigned names.
    assigned: NameTable<Value>,
    /// Names of loops and partials, innermost last.
    inner: SmallVec<[(Arc<str>, Value); 4]>,
    /// Counters of `increment`. A counter is `None` if it depends on a pending call.
    pub(super) counters: NameTable<Option<i64>>,
    /// Positions of cycles by name.
    pub(super) cycles: NameTable<usize>,
    /// End positions of loops by name.
    pub(super) ended: NameTable<i64>,
    /// Last output of `ifchanged`.
    pub(super) changed: Option<Arc<str>>,
    /// Enclosing loops, innermost last.
    pub(super) loops: Vec<Rc<ForLoop>>,
    /// State that depends on a pending call.
    pub(super) lost: PendingEffects,
    /// Reasons why loops or templates are being left.
    pub(super) interrupts: Vec<Interrupt>,
    /// Whether `include` is allowed.
    pub(super) includes: bool,
}

/// State that depends on a pending call.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PendingEffects {
    pub(super) cycles: bool,
    /// End positions of loops.
    pub(super) ends: bool,
    /// Last output of `ifchanged`.
    pub(super) changed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Interrupt {
    Break,
    Continue,
    /// It is unknown whether the loop continues.
    Lost,
}

impl<'p> RenderScope<'p> {
    pub(super) fn new(variables: &'p Map) -> Self {
        RenderScope {
            variables: Some(variables),
            includes: true,
            ..RenderScope::default()
        }
    }

    /// Creates the scope of `render`, in which no names are visible.
    pub(super) fn apart() -> Self {
        RenderScope::default()
    }

    pub(super) fn get(&self, name: &str) -> Option<Value> {
        // Searched from the end, because a later entry hides an earlier one.
        let inner = self.inner.iter().rev().find(|(known, _)| **known == *name);
        if let Some((_, value)) = inner {
            return Some(value.clone());
        }
        if let Some(value) = self.assigned.get(name) {
            return Some(value.clone());
        }
        // Counters are separate from variables, and are read only if no variable was assigned.
        match self.counters.get(name) {
            Some(Some(number)) => return Some((*number).into()),
            Some(None) => return Some(Value::Hole),
            None => {}
        }
        self.variable(name).cloned().map(Value::Data)
    }

    /// Returns a reference to a value, if it is data and not a counter.
    pub(super) fn borrow(&self, name: &str) -> Option<&Data> {
        let inner = self.inner.iter().rev().find(|(known, _)| **known == *name);
        let own = match inner {
            Some((_, value)) => Some(value),
            // Most templates assign no names, so this avoids a hash lookup.
            None if self.assigned.is_empty() => None,
            None => self.assigned.get(name),
        };
        match own {
            Some(Value::Data(value)) => Some(value),
            Some(_) => None,
            // A counter is not stored as data, so it cannot be borrowed.
            None if self.counters.contains_key(name) => None,
            None => self.variable(name),
        }
    }

    pub(super) fn variable(&self, name: &str) -> Option<&'p Data> {
        self.variables?.get(name)
    }

    /// Returns the names of visible variables.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        let variables = self.variables.into_iter().flat_map(Map::iter);
        let assigned = self.assigned.keys();
        variables
            .map(|(name, _)| &**name)
            .chain(assigned.map(|name| &**name))
    }

    pub(super) fn assign(&mut self, name: &Arc<str>, value: Value) {
        // The name is set in the outermost scope, which inner scopes with the same name hide.
        self.assigned.insert(Arc::clone(name), value);
    }

    /// Returns the start of a scope, for [`RenderScope::close`].
    pub(super) fn open(&self) -> usize {
        self.inner.len()
    }

    /// Sets a name in the innermost scope, which began at `scope`.
    pub(super) fn set_local(&mut self, scope: usize, name: &Arc<str>, value: Value) {
        let own = self.inner.get_mut(scope..).unwrap_or_default();
        // A loop sets its item in every iteration.
        match own.iter_mut().find(|(known, _)| known == name) {
            Some((_, old)) => *old = value,
            None => self.inner.push((Arc::clone(name), value)),
        }
    }

    pub(super) fn close(&mut self, scope: usize) {
        self.inner.truncate(scope);
    }
}
