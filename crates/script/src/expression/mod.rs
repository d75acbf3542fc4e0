//! JavaScript expressions that need no JavaScript engine, and key paths.
//!
//! Scripts mostly say `i >= 0`, `i-1`, `a == 1 || this.b`, `{name, age: age + 10}`. This
//! evaluator does that subset with the exact rules of ECMAScript and no engine. What it
//! does not know it never guesses: it says [`ParsedExpression::JavaScript`] or
//! [`EvalError::JavaScript`], and the caller asks the engine.
//!
//! Nothing here runs code, waits, or changes a variable. An expression has no loops, so its
//! work is bounded by its own length, the length of the values that it names, and
//! [`MAX_BYTES`] and [`MAX_ITEMS`] for what it makes.

mod convert;
mod data;
mod evaluate;
mod lexer;
mod literal;
mod methods;
mod names;
mod number;
mod parser;
pub mod path;
mod property;
mod tree;

use std::sync::Arc;

use quillet_core::{Map, Span, Value};

pub use convert::{loosely_equal, strictly_equal, to_js_string, to_number, truthy};
pub use data::{DataError, data};
pub use number::{format_number, from_number, parse_number};

/// An expression nested deeper than this is refused.
pub const MAX_NESTING: usize = 128;
/// No text longer than this many bytes is made by an expression.
pub const MAX_BYTES: usize = 16 << 20;
/// No list or object with more entries than this is made by an expression.
pub const MAX_ITEMS: usize = 1 << 20;

/// An expression that was read once and is evaluated often; cloning shares it.
#[derive(Clone, Debug)]
pub struct Expression(Arc<tree::ExprNode>);

/// What a text is.
#[derive(Clone, Debug)]
pub enum ParsedExpression {
    /// An expression that this module evaluates.
    Native(Expression),
    /// Beyond the subset: only an engine can tell.
    JavaScript,
    /// No expression, in JavaScript either; or nested deeper than [`MAX_NESTING`].
    Invalid(SyntaxError),
}

/// A syntax error of an expression.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SyntaxError {
    /// What is wrong, one sentence without a full stop.
    pub message: String,
    /// Where, in bytes of the expression's own text.
    pub span: Span,
}

/// An error while an expression is evaluated. Places are bytes of the expression's own text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EvalError {
    /// A bare name that nobody knows.
    #[error("`{name}` is not defined")]
    Unknown {
        /// The name.
        name: Arc<str>,
        /// Where it stands.
        span: Span,
    },
    /// Found out on the way: the engine is needed.
    #[error("this needs JavaScript")]
    JavaScript,
    /// JavaScript would throw here.
    #[error("{message}")]
    Throws {
        /// What it would say.
        message: String,
        /// The part that throws.
        span: Span,
    },
    /// It would make something larger than the limit that the message names.
    #[error("{message}")]
    Limit {
        /// Which limit, with its figure.
        message: String,
        /// The part that makes it.
        span: Span,
    },
}

/// What a name stands for.
#[derive(Clone, Debug, PartialEq)]
pub enum NameValue {
    /// Nobody declared it.
    Missing,
    /// Declared, with JavaScript's `undefined`.
    Undefined,
    /// A value.
    Value(Value),
    /// Something to call: only an engine can do that.
    Function,
}

/// The names that an expression may use.
pub trait NameResolver {
    /// A bare name: `x`.
    fn get(&self, name: &str) -> NameValue;
    /// A member of the runtime: `this.x`.
    fn this(&self, name: &str) -> NameValue;
}

/// A names table with one object behind both `x` and `this.x`.
impl NameResolver for Map {
    fn get(&self, name: &str) -> NameValue {
        Map::get(self, name).map_or(NameValue::Missing, |value| NameValue::Value(value.clone()))
    }
    fn this(&self, name: &str) -> NameValue {
        NameResolver::get(self, name)
    }
}

/// A name that an expression uses without declaring it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameUse {
    /// The name, without `this.`.
    pub name: Arc<str>,
    /// Whether it was written `this.name`.
    pub this: bool,
    /// Where, in bytes of the expression's own text.
    pub span: Span,
}

impl Expression {
    /// Reads an expression.
    #[must_use]
    pub fn parse(text: &str) -> ParsedExpression {
        match parser::parse(text) {
            Ok(node) => ParsedExpression::Native(Expression(Arc::new(node))),
            Err(parser::ParseRefusal::JavaScript) => ParsedExpression::JavaScript,
            Err(parser::ParseRefusal::Invalid(error)) => ParsedExpression::Invalid(error),
        }
    }

    /// Its value; `None` is JavaScript's `undefined`.
    ///
    /// # Errors
    /// An unknown name, a value that JavaScript would throw on, a limit, or something that
    /// only an engine can do.
    pub fn evaluate(&self, names: &dyn NameResolver) -> Result<Option<Value>, EvalError> {
        evaluate::evaluate(&self.0, names)
    }

    /// The names it uses, in the order in which they stand.
    #[must_use]
    pub fn names(&self) -> Vec<NameUse> {
        names::names(&self.0)
    }

    /// The name, where the expression is nothing but a bare name.
    #[must_use]
    pub fn as_name(&self) -> Option<&str> {
        match &*self.0 {
            tree::ExprNode::Name { name, .. } => Some(name),
            _ => None,
        }
    }

    /// `a.b.c` where the expression is nothing but a name and fields of it.
    #[must_use]
    pub fn as_path(&self) -> Option<String> {
        names::path(&self.0)
    }

    /// Its value, where it is a literal and nothing else.
    #[must_use]
    pub fn as_literal(&self) -> Option<&Option<Value>> {
        match &*self.0 {
            tree::ExprNode::Literal(value) => Some(value),
            _ => None,
        }
    }
}
