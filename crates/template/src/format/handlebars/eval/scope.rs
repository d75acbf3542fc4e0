//! Name scopes of an evaluation: chains of contexts, loop data, block parameters and inline
//! partials. Each chain begins with the innermost element, and all elements are on the native
//! stack.

use std::sync::Arc;

use quillet_core::Value;

use crate::format::handlebars::ast::BlockBody;
use crate::structure;

/// A value in use: borrowed from the data, computed, or missing.
#[derive(Debug)]
pub(in crate::format::handlebars) enum ScopedValue<'s> {
    /// JavaScript's `undefined`.
    Undefined,
    Held(&'s Value),
    Made(Value),
}

impl ScopedValue<'_> {
    /// Returns the value, if there is one.
    pub(in crate::format::handlebars) fn get(&self) -> Option<&Value> {
        match self {
            ScopedValue::Undefined => None,
            ScopedValue::Held(value) => Some(value),
            ScopedValue::Made(value) => Some(value),
        }
    }

    /// Returns the value without marks, for a helper that may change a text and would break the
    /// secret in its marks.
    pub(in crate::format::handlebars) fn without_marks(self) -> Self {
        let text = self.get().and_then(Value::as_str);
        match text.and_then(structure::unmarked) {
            Some(text) => ScopedValue::Made(text.into()),
            None => self,
        }
    }
}

impl<'s> From<Option<&'s Value>> for ScopedValue<'s> {
    fn from(value: Option<&'s Value>) -> Self {
        value.map_or(ScopedValue::Undefined, ScopedValue::Held)
    }
}

/// Everything that a name can refer to at a position.
#[derive(Clone, Copy)]
pub(in crate::format::handlebars) struct Scope<'s> {
    /// Index of the current source, for its text and for errors.
    pub(super) source: usize,
    /// The variables.
    pub(super) root: &'s Value,
    pub(in crate::format::handlebars) context: &'s ContextStack<'s>,
    pub(super) frame: Option<&'s DataFrame<'s>>,
    pub(super) params: Option<&'s BlockParams<'s>>,
    pub(super) inlines: Option<&'s Inlines<'s>>,
    /// The body of `@partial-block`.
    pub(super) block: Option<&'s PartialBlock<'s>>,
}

/// A context with its outer contexts, which `../` reaches.
pub(in crate::format::handlebars) struct ContextStack<'s> {
    pub(in crate::format::handlebars) value: Option<&'s Value>,
    pub(super) parent: Option<&'s ContextStack<'s>>,
}

/// Data that a loop or a helper has set, such as `@index` and `@key`.
pub(super) struct DataFrame<'s> {
    pub(super) data: FrameData<'s>,
    pub(super) parent: Option<&'s DataFrame<'s>>,
}

pub(super) enum FrameData<'s> {
    Turn {
        key: Key<'s>,
        index: usize,
        last: bool,
    },
    Named(&'s [(&'s str, Value)]),
}

#[derive(Clone, Copy)]
pub(super) enum Key<'s> {
    Index(usize),
    Name(&'s Arc<str>),
}

impl Key<'_> {
    pub(super) fn value(self) -> Value {
        match self {
            Key::Index(index) => Value::Int(i64::try_from(index).unwrap_or(i64::MAX)),
            Key::Name(name) => Value::Str(name.clone()),
        }
    }
}

/// Values of the parameters of a block.
pub(super) struct BlockParams<'s> {
    pub(super) values: [Option<&'s Value>; 2],
    pub(super) parent: Option<&'s BlockParams<'s>>,
}

/// Inline partials that a body defines.
pub(super) struct Inlines<'s> {
    pub(super) partials: Vec<(String, &'s BlockBody)>,
    /// Index of the source with the definition.
    pub(super) source: usize,
    pub(super) contexts: Option<&'s ContextStack<'s>>,
    pub(super) params: Option<&'s BlockParams<'s>>,
    pub(super) parent: Option<&'s Inlines<'s>>,
}

/// The body of a `{{#> …}}` and its scope.
pub(super) struct PartialBlock<'s> {
    pub(super) body: &'s BlockBody,
    pub(super) scope: &'s Scope<'s>,
}

impl<'s> Scope<'s> {
    /// Creates the scope of a source, without outer scopes.
    pub(super) fn of_source(source: usize, root: &'s Value, context: &'s ContextStack<'s>) -> Self {
        Scope {
            source,
            root,
            context,
            frame: None,
            params: None,
            inlines: None,
            block: None,
        }
    }
}

impl<'s> ContextStack<'s> {
    /// Returns the context at this number of levels outward.
    pub(super) fn up(&'s self, levels: usize) -> Option<&'s ContextStack<'s>> {
        let mut context = self;
        for _ in 0..levels {
            context = context.parent?;
        }
        Some(context)
    }
}

/// Whether two contexts are the same, because `../` ignores a block that keeps its context. As in
/// JavaScript, texts and numbers are compared by value.
pub(super) fn same(one: Option<&Value>, other: Option<&Value>) -> bool {
    match (one, other) {
        (None | Some(Value::Null), None | Some(Value::Null)) => true,
        (Some(Value::Map(a)), Some(Value::Map(b))) => std::ptr::eq(a.table(), b.table()),
        // Different empty lists may share an address, but the difference is never visible.
        (Some(Value::List(a)), Some(Value::List(b))) => std::ptr::eq(a.as_slice(), b.as_slice()),
        (Some(Value::List(_) | Value::Map(_)), _) | (_, Some(Value::List(_) | Value::Map(_))) => {
            false
        }
        (one, other) => one == other,
    }
}
