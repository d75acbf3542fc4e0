//! Data as people type it: `{content: "…", n: 3}`.

use quillet_core::{Span, Value};

use super::{EvalError, Expression, NameResolver, ParsedExpression, SyntaxError};

/// The error of a text that cannot be read as data.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DataError {
    /// The text cannot be read.
    #[error(transparent)]
    Syntax(#[from] SyntaxError),
    /// The text names something that is not known, or goes too far.
    #[error(transparent)]
    Value(#[from] EvalError),
}

/// Reads JSON, or an object or list as JavaScript writes it: keys without quotes, single
/// quotes, trailing commas, comments, and names of `names` as values. A name that is not
/// known is `undefined`, so its field is omitted. An empty text is `undefined`.
///
/// # Errors
/// Text that is neither, or that needs an engine: data runs no code.
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
