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

mod characters;
mod convert;
mod data;
mod error;
mod evaluate;
mod lexer;
mod limits;
mod literal;
mod methods;
mod name;
mod names;
mod number;
mod parser;
pub mod path;
mod property;
mod tree;

use std::sync::Arc;

use quillet_core::Value;

pub use convert::{loosely_equal, strictly_equal, to_js_string, to_number, truthy};
pub use data::{DataError, data};
use error::ParseRefusal;
pub use error::{EvalError, SyntaxError};
pub use limits::{MAX_BYTES, MAX_ITEMS, MAX_NESTING};
pub use name::{NameResolver, NameUse, NameValue};
pub use number::{format_number, from_number, parse_number};

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

impl Expression {
    /// Reads an expression.
    #[must_use]
    pub fn parse(text: &str) -> ParsedExpression {
        match parser::parse(text) {
            Ok(node) => ParsedExpression::Native(Expression(Arc::new(node))),
            Err(ParseRefusal::JavaScript) => ParsedExpression::JavaScript,
            Err(ParseRefusal::Invalid(error)) => ParsedExpression::Invalid(error),
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
