//! Formats values as text.

use quillet_core::Value;

/// Formats a value: strings unchanged, `null` and `undefined` as an empty text, others as JSON.
pub(crate) fn print(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::Str(text)) => text.to_string(),
        Some(value @ (Value::List(_) | Value::Map(_))) => quillet_core::json::to_string(value),
        Some(other) => crate::expression::to_js_string(other),
    }
}
