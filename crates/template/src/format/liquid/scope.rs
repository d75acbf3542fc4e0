//! Names while a template is evaluated.
//!
//! What `assign` and `capture` set is seen everywhere from then on; a loop and a partial have
//! scopes of their own for what they bring. `render` sees none of what is around it, the
//! variables included.

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use quillet_core::{Map, Value as Data};
use smallvec::SmallVec;

use super::value::{ForLoop, Value};

type NameTable<T> = HashMap<Arc<str>, T, foldhash::fast::RandomState>;

/// What one template, and what it includes, sees and keeps.
#[derive(Debug, Default)]
pub(super) struct RenderScope<'p> {
    /// The variables; `None` inside of `render`.
    variables: Option<&'p Map>,
    /// What was assigned.
    assigned: NameTable<Value>,
    /// What loops and partials bring, the innermost last.
    inner: SmallVec<[(Arc<str>, Value); 4]>,
    /// Counters of `increment`; `None` for one that hangs on a pending call.
    pub(super) counters: NameTable<Option<i64>>,
    /// Where cycles are, by their names.
    pub(super) cycles: NameTable<usize>,
    /// Where loops have ended, by their names.
    pub(super) ended: NameTable<i64>,
    /// What `ifchanged` printed last.
    pub(super) changed: Option<Arc<str>>,
    /// Loops around, the innermost last.
    pub(super) loops: Vec<Rc<ForLoop>>,
    /// What hangs on a pending call.
    pub(super) lost: PendingEffects,
    /// The loop, or all of the template, is being left.
    pub(super) interrupts: Vec<Interrupt>,
    /// Whether `include` may be used.
    pub(super) includes: bool,
}

/// What of a world hangs on a pending call.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PendingEffects {
    pub(super) cycles: bool,
    /// Where loops have ended.
    pub(super) ends: bool,
    /// What `ifchanged` printed last.
    pub(super) changed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Interrupt {
    Break,
    Continue,
    /// Nothing is known of what comes next, up to the end of the loop.
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

    /// Where `render` puts a template: nothing is seen.
    pub(super) fn apart() -> Self {
        RenderScope::default()
    }

    pub(super) fn get(&self, name: &str) -> Option<Value> {
        let inner = self.inner.iter().rev().find(|(known, _)| **known == *name);
        if let Some((_, value)) = inner {
            return Some(value.clone());
        }
        if let Some(value) = self.assigned.get(name) {
            return Some(value.clone());
        }
        match self.counters.get(name) {
            Some(Some(number)) => return Some((*number).into()),
            Some(None) => return Some(Value::Hole),
            None => {}
        }
        self.variable(name).cloned().map(Value::Data)
    }

    /// The same where it is, if it is data and no counter.
    pub(super) fn see(&self, name: &str) -> Option<&Data> {
        let inner = self.inner.iter().rev().find(|(known, _)| **known == *name);
        let own = match inner {
            Some((_, value)) => Some(value),
            None if self.assigned.is_empty() => None,
            None => self.assigned.get(name),
        };
        match own {
            Some(Value::Data(value)) => Some(value),
            Some(_) => None,
            None if self.counters.contains_key(name) => None,
            None => self.variable(name),
        }
    }

    pub(super) fn variable(&self, name: &str) -> Option<&'p Data> {
        self.variables?.get(name)
    }

    /// The names of variables that can be seen.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        let variables = self.variables.into_iter().flat_map(Map::iter);
        let assigned = self.assigned.keys();
        variables
            .map(|(name, _)| &**name)
            .chain(assigned.map(|name| &**name))
    }

    pub(super) fn assign(&mut self, name: &Arc<str>, value: Value) {
        // The outermost scope; a name that a scope inside of it has hides this one.
        self.assigned.insert(Arc::clone(name), value);
    }

    /// Where a scope begins, for [`RenderScope::close`].
    pub(super) fn open(&self) -> usize {
        self.inner.len()
    }

    /// Sets a name in the innermost scope, which began at `scope`.
    pub(super) fn bring(&mut self, scope: usize, name: &Arc<str>, value: Value) {
        let own = self.inner.get_mut(scope..).unwrap_or_default();
        match own.iter_mut().find(|(known, _)| known == name) {
            Some((_, old)) => *old = value,
            None => self.inner.push((Arc::clone(name), value)),
        }
    }

    pub(super) fn close(&mut self, scope: usize) {
        self.inner.truncate(scope);
    }
}
