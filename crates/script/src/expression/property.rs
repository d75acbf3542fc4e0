//! Property access: `a.b`, `a[i]`, `k in a`.

use quillet_core::{Map, Value};

use super::convert::{self, EvalFault, Js};

/// Properties that every object inherits from `Object.prototype`.
const OF_OBJECTS: [&str; 12] = [
    "__defineGetter__",
    "__defineSetter__",
    "__lookupGetter__",
    "__lookupSetter__",
    "__proto__",
    "constructor",
    "hasOwnProperty",
    "isPrototypeOf",
    "propertyIsEnumerable",
    "toLocaleString",
    "toString",
    "valueOf",
];

/// Returns whether every JavaScript object inherits a property.
pub(super) fn is_inherited(name: &str) -> bool {
    OF_OBJECTS.contains(&name)
}

/// Evaluates `value.name`.
pub(super) fn field(value: &Js, name: &str) -> Result<Js, EvalFault> {
    match value {
        None | Some(Value::Null) => Err(cannot_read(value, name)),
        Some(Value::Map(map)) => member(map, name),
        Some(Value::Str(text)) if name == "length" => Ok(Some(units(text))),
        Some(Value::List(list)) if name == "length" => Ok(Some(Value::Int(list.len() as i64))),
        Some(Value::List(list)) => match array_index(name) {
            Some(at) => Ok(list.get(at).cloned()),
            None => Err(EvalFault::JavaScript),
        },
        Some(Value::Str(text)) => match array_index(name) {
            Some(at) => character(text, at),
            None => Err(EvalFault::JavaScript),
        },
        // Methods of numbers and booleans, and properties of `undefined`, need the engine.
        Some(_) => Err(EvalFault::JavaScript),
    }
}

/// Evaluates `value[key]`.
pub(super) fn index(value: &Js, key: &Js) -> Result<Js, EvalFault> {
    // This fast path does not format the index as text.
    if let (Some(Value::List(list)), Some(Value::Int(at))) = (value, key) {
        return Ok(usize::try_from(*at)
            .ok()
            .and_then(|at| list.get(at).cloned()));
    }
    if matches!(value, None | Some(Value::Null)) {
        // The name is used only in the message, so a key without a text must not hide the error.
        let name = convert::text(key).unwrap_or_default();
        return Err(cannot_read(value, &name));
    }
    let name = convert::text(key)?;
    match (value, key) {
        // A number that is not a valid index has no value in a list or a string.
        (Some(Value::List(_) | Value::Str(_)), Some(number))
            if convert::is_number(number) && array_index(&name).is_none() =>
        {
            Ok(None)
        }
        _ => field(value, &name),
    }
}

fn member(map: &Map, name: &str) -> Result<Js, EvalFault> {
    match map.get(name) {
        Some(value) => Ok(Some(value.clone())),
        None if is_inherited(name) => Err(EvalFault::JavaScript),
        None => Ok(None),
    }
}

/// Evaluates `key in value`.
pub(super) fn contains(value: &Js, key: &Js) -> Result<bool, EvalFault> {
    let name = convert::text(key)?;
    match value {
        Some(Value::Map(map)) if map.get(&name).is_some() => Ok(true),
        Some(Value::Map(_)) if is_inherited(&name) => Err(EvalFault::JavaScript),
        Some(Value::Map(_)) => Ok(false),
        Some(Value::List(list)) => match array_index(&name) {
            Some(at) => Ok(at < list.len()),
            None if &*name == "length" => Ok(true),
            None => Err(EvalFault::JavaScript),
        },
        other => Err(EvalFault::Throws(format!(
            "`in` needs an object or a list on its right, not {}",
            describe(other)
        ))),
    }
}

/// Returns the receiver of a method call. Methods of objects need the engine.
pub(super) fn receiver<'a>(value: &'a Js, method: &str) -> Result<&'a Value, EvalFault> {
    match value {
        None | Some(Value::Null) => Err(cannot_read(value, method)),
        Some(value @ (Value::Str(_) | Value::List(_))) => Ok(value),
        Some(_) => Err(EvalFault::JavaScript),
    }
}

fn cannot_read(value: &Js, name: &str) -> EvalFault {
    let of = describe(value);
    EvalFault::Throws(format!("cannot read `{name}` of {of}"))
}

/// Describes a value in a message.
pub(super) fn describe(value: &Js) -> &'static str {
    match value {
        None => "undefined",
        Some(Value::Null) => "null",
        Some(Value::Bool(_)) => "a boolean",
        Some(Value::Int(_) | Value::Float(_)) => "a number",
        Some(Value::Str(_)) => "a string",
        Some(Value::List(_)) => "a list",
        Some(Value::Map(_)) => "an object",
    }
}

/// Parses `12` as an ECMAScript array index: no sign, no leading zero, below 2^32 - 1.
pub(super) fn array_index(name: &str) -> Option<usize> {
    let digits = name.bytes().all(|byte| byte.is_ascii_digit());
    let plain = name == "0" || !name.starts_with('0');
    let number: u32 = (digits && plain).then(|| name.parse().ok())??;
    (number != u32::MAX).then_some(number as usize)
}

/// Returns the number of UTF-16 units, which is the `length` of a string.
fn units(text: &str) -> Value {
    let count = if text.is_ascii() {
        text.len()
    } else {
        text.encode_utf16().count()
    };
    Value::Int(count as i64)
}

/// Returns the character at a UTF-16 position. A Rust string cannot contain half of a surrogate
/// pair.
fn character(text: &str, at: usize) -> Result<Js, EvalFault> {
    if text.is_ascii() {
        return Ok(text.get(at..=at).map(Value::from));
    }
    let mut position = 0;
    for c in text.chars() {
        if position == at && c.len_utf16() == 1 {
            return Ok(Some(Value::from(&*c.encode_utf8(&mut [0; 4]))));
        }
        if position + c.len_utf16() > at {
            return Err(EvalFault::JavaScript);
        }
        position += c.len_utf16();
    }
    Ok(None)
}
