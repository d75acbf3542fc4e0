//! Conversions and comparisons of ECMAScript (chapter 7, abstract operations).

use std::cmp::Ordering;
use std::sync::Arc;

use quillet_core::value::MAX_DEPTH;
use quillet_core::{Map, Span, Value};

use super::error::EvalError;
use super::limits::MAX_BYTES;
use super::number::{format_number, from_number, parse_number};

/// An intermediate value; `None` is `undefined`.
pub(super) type Js = Option<Value>;

/// An evaluation error without a location.
#[derive(Debug)]
pub(super) enum EvalFault {
    JavaScript,
    Throws(String),
    Limit(String),
}

impl EvalFault {
    pub(super) fn into_error(self, span: Span) -> EvalError {
        match self {
            EvalFault::JavaScript => EvalError::JavaScript,
            EvalFault::Throws(message) => EvalError::Throws { message, span },
            EvalFault::Limit(message) => EvalError::Limit { message, span },
        }
    }
}

/// Returns whether a value is truthy.
///
/// ```
/// use quillet_core::Value;
/// use quillet_script::expression::truthy;
///
/// assert!(truthy(&Some(Value::from("no"))));
/// assert!(!truthy(&Some(Value::from(""))));
/// assert!(!truthy(&None));
/// ```
#[must_use]
pub fn truthy(value: &Option<Value>) -> bool {
    match value {
        None | Some(Value::Null) => false,
        Some(Value::Bool(value)) => *value,
        Some(Value::Int(number)) => *number != 0,
        Some(Value::Float(number)) => *number != 0.0 && !number.is_nan(),
        Some(Value::Str(text)) => !text.is_empty(),
        Some(Value::List(_) | Value::Map(_)) => true,
    }
}

/// Converts a value to a string like JavaScript's `String(value)`. The items of a list are joined
/// with commas, and an object becomes `[object Object]`.
///
/// The string for a list is truncated if it exceeds [`MAX_BYTES`], or if the list is nested too
/// deeply.
///
/// ```
/// use quillet_core::Value;
/// use quillet_script::expression::to_js_string;
///
/// assert_eq!(to_js_string(&Value::from(vec![1_i64, 2])), "1,2");
/// assert_eq!(to_js_string(&Value::Float(0.5)), "0.5");
/// ```
#[must_use]
pub fn to_js_string(value: &Value) -> String {
    let mut text = String::new();
    match write_text(value, &mut text, 0) {
        Ok(()) | Err(_) => text,
    }
}

/// Converts a value to a number like JavaScript's `Number(value)`; `undefined` is NaN.
///
/// ```
/// use quillet_core::Value;
/// use quillet_script::expression::to_number;
///
/// assert_eq!(to_number(&Some(Value::from("7"))), 7.0);
/// assert_eq!(to_number(&Some(Value::Null)), 0.0);
/// assert!(to_number(&None).is_nan());
/// ```
#[must_use]
pub fn to_number(value: &Option<Value>) -> f64 {
    match value {
        None => f64::NAN,
        Some(Value::Null | Value::Bool(false)) => 0.0,
        Some(Value::Bool(true)) => 1.0,
        Some(Value::Int(number)) => *number as f64,
        Some(Value::Float(number)) => *number,
        Some(Value::Str(text)) => parse_number(text),
        Some(value @ (Value::List(_) | Value::Map(_))) => parse_number(&to_js_string(value)),
    }
}

/// Compares values like JavaScript's `==`, except that lists and objects are equal if their
/// contents are, because Quillet's values have no identity.
///
/// ```
/// use quillet_core::Value;
/// use quillet_script::expression::{loosely_equal, strictly_equal};
///
/// let (text, number) = (Some(Value::from("1")), Some(Value::Int(1)));
/// assert!(loosely_equal(&text, &number));
/// assert!(!strictly_equal(&text, &number));
/// ```
#[must_use]
pub fn loosely_equal(a: &Option<Value>, b: &Option<Value>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) if both_objects(a, b) => a == b,
        // An object whose text only an engine can compute is not equal to any value.
        _ => loose(a, b).unwrap_or(false),
    }
}

/// Compares values like JavaScript's `===`, except that lists and objects are compared by content.
#[must_use]
pub fn strictly_equal(a: &Option<Value>, b: &Option<Value>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) if both_objects(a, b) => a == b,
        _ => strict(a, b).unwrap_or(false),
    }
}

fn both_objects(a: &Value, b: &Value) -> bool {
    is_object(a) && is_object(b)
}

pub(super) fn is_object(value: &Value) -> bool {
    matches!(value, Value::List(_) | Value::Map(_))
}

pub(super) fn is_number(value: &Value) -> bool {
    matches!(value, Value::Int(_) | Value::Float(_))
}

/// `===`. Objects are compared by identity, so this needs the engine.
pub(super) fn strict(a: &Js, b: &Js) -> Result<bool, EvalFault> {
    Ok(match (a, b) {
        (None, None) | (Some(Value::Null), Some(Value::Null)) => true,
        (Some(Value::Bool(a)), Some(Value::Bool(b))) => a == b,
        (Some(Value::Str(a)), Some(Value::Str(b))) => a == b,
        (Some(a), Some(b)) if both_objects(a, b) => return Err(EvalFault::JavaScript),
        (Some(x), Some(y)) if is_number(x) && is_number(y) => to_number(a) == to_number(b),
        _ => false,
    })
}

/// `==`: IsLooselyEqual.
pub(super) fn loose(a: &Js, b: &Js) -> Result<bool, EvalFault> {
    let nullish = |value: &Js| matches!(value, None | Some(Value::Null));
    let (Some(x), Some(y)) = (a, b) else {
        return Ok(nullish(a) && nullish(b));
    };
    if nullish(a) || nullish(b) {
        return Ok(nullish(a) && nullish(b));
    }
    match (x, y) {
        _ if both_objects(x, y) => Err(EvalFault::JavaScript),
        (Value::Str(_), Value::Str(_)) => strict(a, b),
        _ if is_object(x) => loose(&Some(Value::from(primitive_text(x)?)), b),
        _ if is_object(y) => loose(a, &Some(Value::from(primitive_text(y)?))),
        _ => Ok(to_number(a) == to_number(b)),
    }
}

/// IsLessThan on primitives: compares two strings by UTF-16 code units, other values as numbers.
/// `None` if either is NaN.
pub(super) fn compare(a: &Js, b: &Js) -> Result<Option<Ordering>, EvalFault> {
    let (a, b) = (primitive(a)?, primitive(b)?);
    if let (Some(Value::Str(a)), Some(Value::Str(b))) = (&a, &b) {
        // Comparing UTF-8 bytes would order characters outside the Basic Multilingual Plane
        // differently.
        return Ok(Some(a.encode_utf16().cmp(b.encode_utf16())));
    }
    Ok(to_number(&a).partial_cmp(&to_number(&b)))
}

/// ToPrimitive. Lists and objects always become strings.
pub(super) fn primitive(value: &Js) -> Result<Js, EvalFault> {
    match value {
        Some(object) if is_object(object) => Ok(Some(Value::from(primitive_text(object)?))),
        other => Ok(other.clone()),
    }
}

/// ToNumber.
pub(super) fn number(value: &Js) -> Result<f64, EvalFault> {
    match value {
        Some(Value::Int(number)) => Ok(*number as f64),
        Some(Value::Float(number)) => Ok(*number),
        other => Ok(to_number(&primitive(other)?)),
    }
}

/// ToString.
pub(super) fn text(value: &Js) -> Result<Arc<str>, EvalFault> {
    match value {
        None => Ok("undefined".into()),
        Some(Value::Str(text)) => Ok(Arc::clone(text)),
        Some(value) => Ok(primitive_text(value)?.into()),
    }
}

fn primitive_text(value: &Value) -> Result<String, EvalFault> {
    let mut text = String::new();
    write_text(value, &mut text, 0)?;
    Ok(text)
}

/// Appends the text of a value to `out`.
pub(super) fn write_text(value: &Value, out: &mut String, depth: u32) -> Result<(), EvalFault> {
    match value {
        Value::Null => push(out, "null"),
        Value::Bool(true) => push(out, "true"),
        Value::Bool(false) => push(out, "false"),
        Value::Int(number) => push(out, &integer_text(*number)),
        Value::Float(number) => push(out, &format_number(*number)),
        Value::Str(text) => push(out, text),
        Value::List(items) => join(items, ",", out, depth),
        Value::Map(map) => object_text(map, out),
    }
}

/// Formats an integer. Beyond 2^53, JavaScript prints the nearest double.
fn integer_text(number: i64) -> String {
    if number.unsigned_abs() < 1 << 53 {
        number.to_string()
    } else {
        format_number(number as f64)
    }
}

fn object_text(map: &Map, out: &mut String) -> Result<(), EvalFault> {
    match map.get("toString").or(map.get("valueOf")) {
        // The object overrides the conversion with a value that is not a function, so JavaScript
        // throws.
        Some(_) => Err(EvalFault::JavaScript),
        None => push(out, "[object Object]"),
    }
}

/// Implements `list.join(separator)`, in which null is empty.
pub(super) fn join(
    items: &[Value],
    separator: &str,
    out: &mut String,
    depth: u32,
) -> Result<(), EvalFault> {
    if depth >= MAX_DEPTH {
        return Err(EvalFault::Limit(format!(
            "cannot convert a list nested deeper than {MAX_DEPTH} levels to text"
        )));
    }
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            push(out, separator)?;
        }
        if *item != Value::Null {
            write_text(item, out, depth + 1)?;
        }
    }
    Ok(())
}

/// Appends text, unless the result would be too long.
pub(super) fn push(out: &mut String, text: &str) -> Result<(), EvalFault> {
    if out.len() + text.len() > MAX_BYTES {
        return Err(EvalFault::Limit(format!(
            "the expression's text exceeds {MAX_BYTES} bytes"
        )));
    }
    out.push_str(text);
    Ok(())
}

/// `a + b`.
pub(super) fn add(a: &Js, b: &Js) -> Result<Js, EvalFault> {
    if let (Some(Value::Int(a)), Some(Value::Int(b))) = (a, b)
        && let Some(sum) = small(a.checked_add(*b))
    {
        return Ok(Some(Value::Int(sum)));
    }
    let (a, b) = (primitive(a)?, primitive(b)?);
    let is_text = |value: &Js| matches!(value, Some(Value::Str(_)));
    if !is_text(&a) && !is_text(&b) {
        return Ok(Some(from_number(to_number(&a) + to_number(&b))));
    }
    let (a, b) = (text(&a)?, text(&b)?);
    // Capped, because `push` checks the limit only after this allocation.
    let mut sum = String::with_capacity((a.len() + b.len()).min(MAX_BYTES));
    push(&mut sum, &a)?;
    push(&mut sum, &b)?;
    Ok(Some(Value::from(sum)))
}

/// Returns an integer that a double represents exactly.
pub(super) fn small(number: Option<i64>) -> Option<i64> {
    number.filter(|number| number.unsigned_abs() <= 1 << 53)
}

/// ToInt32 (ECMAScript 7.1.6).
pub(super) fn int32(value: &Js) -> Result<i32, EvalFault> {
    Ok(uint32(value)? as i32)
}

/// ToUint32.
pub(super) fn uint32(value: &Js) -> Result<u32, EvalFault> {
    let number = number(value)?;
    if !number.is_finite() {
        return Ok(0);
    }
    // The remainder of the integer part is within ±2^32 and exact.
    Ok((number.trunc() % 4_294_967_296.0) as i64 as u32)
}
