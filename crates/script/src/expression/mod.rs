//! Evaluates key paths and JavaScript expressions without a JavaScript engine.
//!
//! Typical expressions in scripts are `i >= 0`, `i-1`, `a == 1 || this.b`, `{name, age: age + 10}`.
//! This evaluator implements such a subset with the exact rules of ECMAScript. For anything else it
//! returns [`ParsedExpression::JavaScript`] or [`EvalError::JavaScript`], and the caller uses the
//! engine.
//!
//! Evaluation has no side effects and never waits. Expressions have no loops, so the work is
//! limited by the length of the expression, the size of the values that it uses, and [`MAX_BYTES`]
//! and [`MAX_ITEMS`] for its results.

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

/// A parsed expression that can be evaluated many times. Cloning is cheap.
#[derive(Clone, Debug)]
pub struct Expression(Arc<tree::ExprNode>);

/// Result of parsing an expression.
#[derive(Clone, Debug)]
pub enum ParsedExpression {
    /// An expression that this module evaluates.
    Native(Expression),
    /// Outside the supported subset; only an engine can evaluate it.
    JavaScript,
    /// Invalid in JavaScript too, or nested deeper than [`MAX_NESTING`].
    Invalid(SyntaxError),
}

impl Expression {
    /// Parses the source text of an expression.
    #[must_use]
    pub fn parse(text: &str) -> ParsedExpression {
        match parser::parse(text) {
            Ok(node) => ParsedExpression::Native(Expression(Arc::new(node))),
            Err(ParseRefusal::JavaScript) => ParsedExpression::JavaScript,
            Err(ParseRefusal::Invalid(error)) => ParsedExpression::Invalid(error),
        }
    }

    /// Evaluates the expression; `None` is JavaScript's `undefined`.
    ///
    /// # Errors
    /// An unknown name, an operation on which JavaScript would throw, an exceeded limit, or an
    /// operation that needs the engine.
    pub fn evaluate(&self, names: &dyn NameResolver) -> Result<Option<Value>, EvalError> {
        evaluate::evaluate(&self.0, names)
    }

    /// Returns the names that the expression uses, in source order.
    #[must_use]
    pub fn names(&self) -> Vec<NameUse> {
        names::names(&self.0)
    }

    /// Returns the name if the expression is only a bare name.
    #[must_use]
    pub fn as_name(&self) -> Option<&str> {
        match &*self.0 {
            tree::ExprNode::Name { name, .. } => Some(name),
            _ => None,
        }
    }

    /// Returns `a.b.c` if the expression is only a name with field accesses.
    #[must_use]
    pub fn as_path(&self) -> Option<String> {
        names::path(&self.0)
    }

    /// Returns the value if the expression is only a literal.
    #[must_use]
    pub fn as_literal(&self) -> Option<&Option<Value>> {
        match &*self.0 {
            tree::ExprNode::Literal(value) => Some(value),
            _ => None,
        }
    }
}
