//! Converts values to the types of a schema, if the conversion is lossless and unambiguous.

use quillet_core::{Map, MapTable, Value, ValueList, json};
use serde_json::Value as Json;

/// Converts a value to a type that the schema allows. An invalid value is returned unchanged, and
/// the later check reports it.
#[must_use]
pub fn coerce(value: Value, schema: &Json) -> Value {
    let wanted = types(schema);
    // A value that already has an allowed type is not converted to another one.
    if wanted.is_empty() || wanted.iter().any(|kind| is(&value, kind)) {
        return coerce_inside(value, schema);
    }
    let fitted = wanted.iter().find_map(|kind| convert(&value, kind));
    match fitted {
        Some(fitted) => coerce_inside(fitted, schema),
        None => value,
    }
}

/// Returns the types that a schema allows; empty means any type.
pub(super) fn types(schema: &Json) -> Vec<&str> {
    match schema.get("type") {
        Some(Json::String(kind)) => vec![kind],
        Some(Json::Array(kinds)) => kinds.iter().filter_map(Json::as_str).collect(),
        _ => Vec::new(),
    }
}

fn is(value: &Value, kind: &str) -> bool {
    match (value, kind) {
        // In JSON Schema every integer is a number.
        (Value::Int(_), "number") => true,
        (value, kind) => value.kind() == kind,
    }
}

fn convert(value: &Value, kind: &str) -> Option<Value> {
    match (kind, value) {
        ("string", Value::Int(_) | Value::Float(_) | Value::Bool(_)) => {
            Some(json::to_string(value).into())
        }
        ("integer", Value::Float(number)) => to_integer(*number),
        ("integer", Value::Str(text)) => text.trim().parse().ok().map(Value::Int),
        ("number", Value::Str(text)) => number(text.trim()),
        ("boolean", Value::Str(text)) => boolean(text.trim()),
        ("null", Value::Str(text)) if text.trim().is_empty() => Some(Value::Null),
        ("array", Value::Str(text)) => read(text, "array").or_else(|| Some(alone(value))),
        // A missing list must fail the check instead of becoming `[null]`.
        ("array", Value::Null) => None,
        ("array", _) => Some(alone(value)),
        ("object", Value::Str(text)) => read(text, "object"),
        _ => None,
    }
}

#[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss)]
fn to_integer(number: f64) -> Option<Value> {
    // A float above 2^53 may have lost digits, so its integer value is uncertain.
    let fits = number.fract() == 0.0 && number.abs() < 9_007_199_254_740_992.0;
    fits.then_some(Value::Int(number as i64))
}

/// Parses a number, as an integer if it is written as one.
pub(super) fn number(text: &str) -> Option<Value> {
    if let Ok(number) = text.parse::<i64>() {
        return Some(Value::Int(number));
    }
    // Rust parses `inf` and `nan` as floats, but in an answer they are words.
    let digits = text.bytes().any(|byte| byte.is_ascii_digit());
    let number: f64 = text.parse().ok().filter(|_| digits)?;
    number.is_finite().then_some(Value::Float(number))
}

pub(super) fn boolean(text: &str) -> Option<Value> {
    match text.to_lowercase().as_str() {
        "true" | "yes" | "on" | "是" | "对" | "真" => Some(Value::Bool(true)),
        "false" | "no" | "off" | "否" | "不是" | "错" | "假" => Some(Value::Bool(false)),
        _ => None,
    }
}

fn alone(value: &Value) -> Value {
    Value::from(vec![value.clone()])
}

fn read(text: &str, kind: &str) -> Option<Value> {
    json::parse(text.trim())
        .ok()
        .filter(|value| is(value, kind))
}

fn coerce_inside(value: Value, schema: &Json) -> Value {
    match (&value, schema.get("properties"), schema.get("items")) {
        (Value::Map(map), Some(Json::Object(properties)), _) => {
            let field = |(name, value): (&std::sync::Arc<str>, &Value)| {
                let value = match properties.get(&**name) {
                    Some(schema) => coerce(value.clone(), schema),
                    None => value.clone(),
                };
                (name.clone(), value)
            };
            Map::new(map.iter().map(field).collect::<MapTable>()).into()
        }
        (Value::List(items), _, Some(schema @ Json::Object(_))) => {
            let items = items.iter().map(|item| coerce(item.clone(), schema));
            Value::List(items.collect::<ValueList>())
        }
        _ => value,
    }
}
