//! Names that expressions use, and the interface that resolves them.

use std::sync::Arc;

use quillet_core::{Map, Span, Value};

/// The value of a name.
#[derive(Clone, Debug, PartialEq)]
pub enum NameValue {
    /// Not declared.
    Missing,
    /// Declared, with JavaScript's `undefined`.
    Undefined,
    /// A value.
    Value(Value),
    /// A function, which only the JavaScript engine can call.
    Function,
}

/// The names that an expression may use.
pub trait NameResolver {
    /// A bare name: `x`.
    fn get(&self, name: &str) -> NameValue;
    /// Looks up a member of the runtime: `this.x`.
    fn this(&self, name: &str) -> NameValue;
}

/// A table of names, used for both `x` and `this.x`.
impl NameResolver for Map {
    fn get(&self, name: &str) -> NameValue {
        Map::get(self, name).map_or(NameValue::Missing, |value| NameValue::Value(value.clone()))
    }
    fn this(&self, name: &str) -> NameValue {
        NameResolver::get(self, name)
    }
}

/// An undeclared name that an expression uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameUse {
    /// The name, without `this.`.
    pub name: Arc<str>,
    /// Whether the name was written as `this.name`.
    pub this: bool,
    /// The location of the name, as a byte range of the expression.
    pub span: Span,
}
