//! Equality of values in patterns.

use quillet_core::Value;

use crate::expression::{parse_number, to_js_string};

/// Returns whether a pattern treats two values as equal. A number equals a string of its digits,
/// because models answer in text. No other types are converted, so `0` does not equal the empty
/// string.
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
        // Compares the numeric value of the text, so `"1.0"` equals the number 1.
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

/// Returns a number, or the number in a text.
pub(super) fn as_number(value: &Value) -> Option<f64> {
    let number = match value {
        Value::Int(number) => *number as f64,
        Value::Float(number) => *number,
        Value::Str(text) if !text.trim().is_empty() => parse_number(text),
        _ => return None,
    };
    (!number.is_nan()).then_some(number)
}
