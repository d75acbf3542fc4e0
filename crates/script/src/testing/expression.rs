//! `$expr`: an expression about a value, in the subset of JavaScript that does not need an engine.

use quillet_core::value::MapTable;
use quillet_core::{Map, Value};

use crate::expression::{Expression, ParsedExpression, truthy};

/// Names that an expression can use besides `actual`.
#[derive(Clone, Debug)]
pub(super) struct TestNames {
    table: MapTable,
}

impl TestNames {
    /// Combines the parts of a run with the variables of a test, which take precedence. `data`
    /// contains all variables.
    pub(super) fn new(
        variables: &Map,
        parts: impl IntoIterator<Item = (&'static str, Value)>,
    ) -> Self {
        let parts = parts.into_iter().map(|(name, value)| (name.into(), value));
        let mut table: MapTable = parts.collect();
        table.extend(
            variables
                .iter()
                .map(|(name, value)| (name.clone(), value.clone())),
        );
        table.insert("data".into(), Value::Map(variables.clone()));
        TestNames { table }
    }

    /// Returns whether the expression is true for a value.
    ///
    /// # Errors
    /// The text is not an expression, uses an unknown name, or needs the JavaScript engine.
    pub(super) fn is_true(&self, text: &str, actual: Option<&Value>) -> Result<bool, String> {
        let expression = match Expression::parse(text) {
            ParsedExpression::Native(expression) => expression,
            ParsedExpression::Invalid(error) => {
                return Err(format!("invalid expression: {error}"));
            }
            ParsedExpression::JavaScript => {
                return Err("functions are not available in $expr".to_owned());
            }
        };
        let mut table = self.table.clone();
        if let Some(actual) = actual {
            table.insert("actual".into(), actual.clone());
        }
        let value = expression.evaluate(&Map::new(table));
        value
            .map(|value| truthy(&value))
            .map_err(|error| error.to_string())
    }
}
