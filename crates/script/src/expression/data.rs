//! Parses data literals: `{content: "…", n: 3}`.

use quillet_core::{Span, Value};

use super::{EvalError, Expression, NameResolver, ParsedExpression, SyntaxError};

/// Error for an invalid data literal.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DataError {
    /// The text has a syntax error.
    #[error(transparent)]
    Syntax(#[from] SyntaxError),
    /// Evaluation failed, for example because of an unknown name.
    #[error(transparent)]
    Value(#[from] EvalError),
}

/// Parses JSON, or a JavaScript object or list. This includes unquoted keys, single quotes,
/// trailing commas, comments, and values that are names in `names`. An unknown name is `undefined`,
/// so a field with this value is omitted. An empty string is `undefined`.
///
/// # Errors
/// The text is invalid, or needs the JavaScript engine, which data may not use.
pub fn data(text: &str, names: &dyn NameResolver) -> Result<Option<Value>, DataError> {
    if text.trim().is_empty() {
        return Ok(None);
    }
    if let Ok(value) = quillet_core::json::parse(text) {
        return Ok(Some(value));
    }
    match Expression::parse(text) {
        ParsedExpression::Native(expression) => Ok(expression.evaluate(&LenientResolver(names))?),
        ParsedExpression::Invalid(error) => Err(error.into()),
        ParsedExpression::JavaScript => Err(DataError::Syntax(SyntaxError {
            message: "invalid data: expected values and names, not code".to_owned(),
            span: Span {
                start: 0,
                end: text.len(),
            },
        })),
    }
}

struct LenientResolver<'a>(&'a dyn NameResolver);

impl NameResolver for LenientResolver<'_> {
    fn get(&self, name: &str) -> super::NameValue {
        match self.0.get(name) {
            super::NameValue::Missing => super::NameValue::Undefined,
            found => found,
        }
    }
    fn this(&self, name: &str) -> super::NameValue {
        self.0.this(name)
    }
}
