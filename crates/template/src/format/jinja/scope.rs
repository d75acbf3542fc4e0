//! Name scopes of an evaluation, with access to values by reference.

use std::collections::HashMap;
use std::sync::Arc;

use quillet_core as core;
use quillet_core::Map;
use smallvec::{SmallVec, smallvec};

use super::JinjaTemplate;
use super::ast::{Expr, ExprKind};
use super::methods;
use super::value::{Dict, Value};

/// A table of names.
pub(super) type NameTable<T> = HashMap<Arc<str>, T, foldhash::fast::RandomState>;

/// The names visible at one point.
pub(super) struct NameStack<'p> {
    variables: &'p Map,
    /// Whether variables may be borrowed without preparation.
    as_is: bool,
    /// Index of the current source.
    pub(super) source: usize,
    /// Tables of global names: the first is the entry's, each import adds one.
    bases: SmallVec<[BaseScope; 1]>,
    pub(super) base: usize,
    /// Names of inner scopes; those before `floor` are not visible.
    locals: SmallVec<[(Arc<str>, Value); 8]>,
    floor: usize,
    /// Start of the innermost scope in `locals`; `None` at the top of a source.
    frame: Option<usize>,
}

#[derive(Default)]
pub(super) struct BaseScope {
    names: NameTable<Value>,
    /// Whether the variables are visible (`import … without context` hides them).
    context: bool,
}

/// State to restore when a scope ends.
pub(super) struct ScopeMark {
    locals: usize,
    floor: usize,
    frame: Option<usize>,
    base: usize,
    source: usize,
}

/// A borrowed value.
#[derive(Clone, Copy, Debug)]
pub(super) enum ValueRef<'a> {
    /// A value of the template.
    Own(&'a Value),
    /// A value of the caller.
    Given(&'a core::Value),
}

impl<'a> ValueRef<'a> {
    pub(super) fn as_str(self) -> Option<&'a str> {
        match self {
            ValueRef::Own(value) => value.as_str(),
            ValueRef::Given(value) => value.as_str(),
        }
    }

    /// Python's truth; `None` if more than a borrow is needed.
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

    /// Returns a variable, if they are visible.
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

    /// Returns a name that the template itself has set.
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

    /// Returns a borrowed value of an expression. `None` if there is none, or if it requires
    /// evaluation.
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

    /// Yields the names of all visible scopes.
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

    /// Opens a scope that sees the outer ones.
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

    /// Opens a scope that sees only the global names of `base`.
    pub(super) fn open_apart(&mut self, base: usize, source: usize) -> ScopeMark {
        let scope = self.open();
        self.floor = self.locals.len();
        self.base = base;
        self.source = source;
        scope
    }

    /// Makes the following names global in their base.
    pub(super) fn open_top(&mut self) {
        self.frame = None;
    }

    /// Begins another iteration of a loop: drops the names that the last one set, except for the
    /// first `kept` names.
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
