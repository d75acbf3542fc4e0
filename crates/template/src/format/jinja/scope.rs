//! Name scopes of an evaluation, with access to borrowed values.

use std::collections::HashMap;
use std::sync::Arc;

use quillet_core as core;
use quillet_core::Map;
use smallvec::{SmallVec, smallvec};

use super::JinjaTemplate;
use super::ast::{Expr, ExprKind};
use super::methods;
use super::value::{Dict, Value};

/// Values by name.
pub(super) type NameTable<T> = HashMap<Arc<str>, T, foldhash::fast::RandomState>;

/// The names that are visible at a position.
pub(super) struct NameStack<'p> {
    variables: &'p Map,
    /// Whether variables may be borrowed unchanged.
    as_is: bool,
    /// Index of the current source.
    pub(super) source: usize,
    /// Tables of global names: one for the entry, and one for each import.
    bases: SmallVec<[BaseScope; 1]>,
    pub(super) base: usize,
    /// Names of inner scopes. Those before `floor` are not visible.
    locals: SmallVec<[(Arc<str>, Value); 8]>,
    floor: usize,
    /// Start of the innermost scope in `locals`. `None` at the top of a source.
    frame: Option<usize>,
}

#[derive(Default)]
pub(super) struct BaseScope {
    names: NameTable<Value>,
    /// Whether the variables are visible. `import … without context` hides them.
    context: bool,
}

/// State that is restored at the end of a scope.
pub(super) struct ScopeMark {
    locals: usize,
    floor: usize,
    frame: Option<usize>,
    base: usize,
    source: usize,
}

/// A reference to a value.
#[derive(Clone, Copy, Debug)]
pub(super) enum ValueRef<'a> {
    /// A value that the template created.
    Own(&'a Value),
    /// A value that the caller passed.
    Given(&'a core::Value),
}

impl<'a> ValueRef<'a> {
    pub(super) fn as_str(self) -> Option<&'a str> {
        match self {
            ValueRef::Own(value) => value.as_str(),
            ValueRef::Given(value) => value.as_str(),
        }
    }

    /// Returns Python's truth value, or `None` if it depends on more than the reference.
    pub(super) fn is_true(self) -> Option<bool> {
        match self {
            ValueRef::Own(Value::Undefined(_) | Value::Hole) => None,
            ValueRef::Own(value) => Some(value.is_true()),
            ValueRef::Given(value) => Some(match value {
                core::Value::Null => false,
                core::Value::Bool(bool) => *bool,
                core::Value::Int(int) => *int != 0,
                core::Value::Float(float) => *float != 0.0,
                core::Value::Str(text) => !text.is_empty(),
                core::Value::List(list) => !list.is_empty(),
                core::Value::Map(map) => !map.is_empty(),
            }),
        }
    }

    fn as_map(self) -> Option<&'a Map> {
        match self {
            ValueRef::Own(Value::Dict(Dict::Core(map))) => Some(map),
            ValueRef::Given(core::Value::Map(map)) => Some(map),
            _ => None,
        }
    }
}

impl<'p> NameStack<'p> {
    pub(super) fn new(compiled: &JinjaTemplate, variables: &'p Map) -> Self {
        let base = BaseScope {
            context: true,
            ..BaseScope::default()
        };
        NameStack {
            variables,
            as_is: compiled.takes_as_is(),
            source: 0,
            bases: smallvec![base],
            base: 0,
            locals: SmallVec::new(),
            floor: 0,
            frame: None,
        }
    }

    /// Returns a variable, if the variables are visible here.
    #[inline]
    pub(super) fn variable(&self, name: &str) -> Option<&'p core::Value> {
        let seen = self.bases.get(self.base).is_some_and(|base| base.context);
        self.variables.get(name).filter(|_| seen)
    }

    fn local(&self, name: &str) -> Option<&Value> {
        let visible = self.locals.get(self.floor..)?;
        let found = visible.iter().rev().find(|(local, _)| **local == *name);
        found.map(|(_, value)| value)
    }

    /// Returns the value of a name that the template has set.
    pub(super) fn own(&self, name: &str) -> Option<&Value> {
        let base = || {
            let names = &self.bases.get(self.base)?.names;
            if names.is_empty() {
                None
            } else {
                names.get(name)
            }
        };
        self.local(name).or_else(base)
    }

    /// Returns a reference to the value of an expression, or `None` if there is none or the
    /// expression must be evaluated.
    #[inline]
    pub(super) fn borrow_expr<'a>(&'a self, expr: &'a Expr) -> Option<ValueRef<'a>> {
        match &expr.kind {
            ExprKind::Constant(value) => Some(ValueRef::Given(value)),
            ExprKind::Name(name) => self.see_name(name),
            ExprKind::Attribute(subject, name) => {
                let map = self.borrow_expr(subject)?.as_map()?;
                if methods::of_dict(name) {
                    return None;
                }
                map.get(name).map(ValueRef::Given)
            }
            ExprKind::Item(subject, key) => {
                let ExprKind::Constant(core::Value::Str(key)) = &key.kind else {
                    return None;
                };
                let map = self.borrow_expr(subject)?.as_map()?;
                map.get(key).map(ValueRef::Given)
            }
            _ => None,
        }
    }

    fn see_name(&self, name: &str) -> Option<ValueRef<'_>> {
        if let Some(value) = self.own(name) {
            return Some(ValueRef::Own(value));
        }
        let value = self.variable(name)?;
        let fits = self.as_is && value.depth() <= core::value::MAX_DEPTH;
        fits.then_some(ValueRef::Given(value))
    }

    pub(super) fn module_name(&self, base: usize, name: &str) -> Option<Value> {
        self.bases.get(base)?.names.get(name).cloned()
    }

    pub(super) fn assign(&mut self, name: &Arc<str>, value: Value) {
        let Some(frame) = self.frame else {
            if let Some(base) = self.bases.get_mut(self.base) {
                base.names.insert(Arc::clone(name), value);
            }
            return;
        };
        let scope = self.locals.get_mut(frame..).unwrap_or_default();
        match scope.iter_mut().find(|(local, _)| local == name) {
            Some((_, old)) => *old = value,
            None => self.locals.push((Arc::clone(name), value)),
        }
    }

    /// Adds a name to the innermost scope.
    pub(super) fn push(&mut self, name: Arc<str>, value: Value) {
        self.locals.push((name, value));
    }

    /// Returns the names of all visible inner scopes.
    pub(super) fn visible(&self) -> &[(Arc<str>, Value)] {
        self.locals.get(self.floor..).unwrap_or_default()
    }

    pub(super) fn new_base(&mut self, context: bool) -> usize {
        self.bases.push(BaseScope {
            context,
            ..BaseScope::default()
        });
        self.bases.len() - 1
    }

    /// Opens a scope in which the outer scopes are visible.
    pub(super) fn open(&mut self) -> ScopeMark {
        let scope = ScopeMark {
            locals: self.locals.len(),
            floor: self.floor,
            frame: self.frame,
            base: self.base,
            source: self.source,
        };
        self.frame = Some(self.locals.len());
        scope
    }

    /// Opens a scope in which only the global names of `base` are visible.
    pub(super) fn open_apart(&mut self, base: usize, source: usize) -> ScopeMark {
        let scope = self.open();
        self.floor = self.locals.len();
        self.base = base;
        self.source = source;
        scope
    }

    /// Starts the top level of a source, where assigned names are global.
    pub(super) fn open_top(&mut self) {
        self.frame = None;
    }

    /// Begins another iteration of a loop. Drops the names that the previous iteration set, except
    /// the first `kept` names.
    pub(super) fn turn(&mut self, scope: &ScopeMark, kept: usize) {
        self.locals.truncate(scope.locals + kept);
    }

    /// Returns the number of names added since a scope was opened.
    pub(super) fn since(&self, scope: &ScopeMark) -> usize {
        self.locals.len() - scope.locals
    }

    pub(super) fn close(&mut self, scope: &ScopeMark) {
        self.locals.truncate(scope.locals);
        self.floor = scope.floor;
        self.frame = scope.frame;
        self.base = scope.base;
        self.source = scope.source;
    }
}
