//! When a value is what a pattern says it is.

use quillet_core::Value;

use crate::expression::{parse_number, to_js_string};

/// Whether two values are the same to a pattern. A number and its digits are: models answer
/// in text. Nothing else is converted, so that `0` is not the empty text.
#[must_use]
pub fn equal(a: &Option<Value>, b: &Option<Value>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => equal_values(a, b),
        (None | Some(Value::Null), None | Some(Value::Null)) => true,
        _ => false,
    }
}

fn equal_values(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::List(a), Value::List(b)) => {
            a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| equal_values(a, b))
        }
        (Value::Str(a), Value::Str(b)) => a == b,
        (Value::Bool(a), Value::Bool(b)) => a == b,
        // Digits as they would be printed: `"1.0"` is the number 1, too.
        (Value::Str(text), number) | (number, Value::Str(text)) if is_number(number) => {
            **text == *to_js_string(number) || same_number(a, b)
        }
        (a, b) if is_number(a) && is_number(b) => same_number(a, b),
        (a, b) => a == b,
    }
}

fn same_number(a: &Value, b: &Value) -> bool {
    as_number(a).is_some_and(|number| as_number(b) == Some(number))
}

fn is_number(value: &Value) -> bool {
    matches!(value, Value::Int(_) | Value::Float(_))
}

/// A number, or the number that a text is.
pub(super) fn as_number(value: &Value) -> Option<f64> {
    let number = match value {
        Value::Int(number) => *number as f64,
        Value::Float(number) => *number,
        Value::Str(text) if !text.trim().is_empty() => parse_number(text),
        _ => return None,
    };
    (!number.is_nan()).then_some(number)
}
