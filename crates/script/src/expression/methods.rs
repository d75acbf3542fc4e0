//! The most common methods of strings and lists that do not call script code.

use quillet_core::{Value, ValueList};

use super::convert::{self, EvalFault, Js};

/// A method of a string or a list.
pub(super) type Method = fn(&Value, &[Js]) -> Result<Js, EvalFault>;

/// Finds a method by name.
pub(super) fn find(name: &str) -> Option<Method> {
    Some(match name {
        "at" => call_at,
        "endsWith" => ends_with,
        "includes" => includes,
        "indexOf" => index_of,
        "join" => join,
        "slice" => slice,
        "split" => split,
        "startsWith" => starts_with,
        "toLowerCase" => |value, _| in_case(value, str::to_ascii_lowercase),
        "toString" => to_string,
        "toUpperCase" => |value, _| in_case(value, str::to_ascii_uppercase),
        "trim" => |value, _| trimmed(value, str::trim_matches),
        "trimEnd" => |value, _| trimmed(value, str::trim_end_matches),
        "trimStart" => |value, _| trimmed(value, str::trim_start_matches),
        _ => return None,
    })
}

type Trim = for<'a> fn(&'a str, fn(char) -> bool) -> &'a str;

fn trimmed(value: &Value, trim: Trim) -> Result<Js, EvalFault> {
    match value {
        Value::Str(text) => Ok(Some(Value::from(trim(text, super::characters::is_space)))),
        _ => Err(EvalFault::JavaScript),
    }
}

/// Converts the case of ASCII text. Beyond ASCII the result depends on the engine's Unicode
/// version.
fn in_case(value: &Value, change: fn(&str) -> String) -> Result<Js, EvalFault> {
    match value {
        Value::Str(text) if text.is_ascii() => Ok(Some(Value::from(change(text)))),
        _ => Err(EvalFault::JavaScript),
    }
}

/// Splits by a separator that is not empty. An empty one splits between UTF-16 units, which needs
/// the engine.
fn split(value: &Value, arguments: &[Js]) -> Result<Js, EvalFault> {
    match (value, arguments) {
        (Value::Str(text), [Some(Value::Str(by))]) if !by.is_empty() => {
            let parts = text.split(&**by).map(Value::from);
            Ok(Some(Value::from(parts.collect::<Vec<_>>())))
        }
        _ => Err(EvalFault::JavaScript),
    }
}

fn to_string(value: &Value, _: &[Js]) -> Result<Js, EvalFault> {
    Ok(Some(Value::Str(convert::text(&Some(value.clone()))?)))
}

fn starts_with(value: &Value, arguments: &[Js]) -> Result<Js, EvalFault> {
    let (text, part) = texts(value, arguments)?;
    Ok(Some(Value::Bool(text.starts_with(&*part))))
}

fn ends_with(value: &Value, arguments: &[Js]) -> Result<Js, EvalFault> {
    let (text, part) = texts(value, arguments)?;
    Ok(Some(Value::Bool(text.ends_with(&*part))))
}

/// Returns a string and its single string argument.
fn texts<'a>(
    value: &'a Value,
    arguments: &[Js],
) -> Result<(&'a str, std::sync::Arc<str>), EvalFault> {
    match (value, arguments) {
        (Value::Str(text), [part]) => Ok((text, convert::text(part)?)),
        _ => Err(EvalFault::JavaScript),
    }
}

fn includes(value: &Value, arguments: &[Js]) -> Result<Js, EvalFault> {
    if let (Value::List(list), [wanted]) = (value, arguments) {
        return Ok(Some(Value::Bool(position(list, wanted, true)?.is_some())));
    }
    let (text, part) = texts(value, arguments)?;
    Ok(Some(Value::Bool(text.contains(&*part))))
}

fn index_of(value: &Value, arguments: &[Js]) -> Result<Js, EvalFault> {
    let found = match (value, arguments) {
        (Value::List(list), [wanted]) => position(list, wanted, false)?,
        _ => {
            let (text, part) = texts(value, arguments)?;
            text.find(&*part)
                // JavaScript counts UTF-16 units. The slice is safe, because `find` returns a
                // character boundary.
                .map(|at| text[..at].encode_utf16().count())
        }
    };
    Ok(Some(Value::Int(found.map_or(-1, |at| at as i64))))
}

/// Finds a value in a list by `===`. `nan` is whether NaN equals itself.
fn position(list: &ValueList, wanted: &Js, nan: bool) -> Result<Option<usize>, EvalFault> {
    let is_nan = |value: &Value| matches!(value, Value::Float(number) if number.is_nan());
    let wants_nan = nan && wanted.as_ref().is_some_and(is_nan);
    for (at, item) in list.iter().enumerate() {
        if wants_nan && is_nan(item) || convert::strict(&Some(item.clone()), wanted)? {
            return Ok(Some(at));
        }
    }
    Ok(None)
}

fn join(value: &Value, arguments: &[Js]) -> Result<Js, EvalFault> {
    let Value::List(list) = value else {
        return Err(EvalFault::JavaScript);
    };
    let mut out = String::new();
    match arguments.first() {
        // In JavaScript an explicit `undefined` also selects the comma.
        None | Some(None) => convert::join(list, ",", &mut out, 0)?,
        Some(separator) => convert::join(list, &convert::text(separator)?, &mut out, 0)?,
    }
    Ok(Some(Value::from(out)))
}

fn call_at(value: &Value, arguments: &[Js]) -> Result<Js, EvalFault> {
    let length = length(value)?;
    let place = whole_argument(arguments.first(), 0.0)?;
    let place = if place < 0.0 {
        place + length as f64
    } else {
        place
    };
    if !(0.0..length as f64).contains(&place) {
        return Ok(None);
    }
    super::property::index(&Some(value.clone()), &Some(super::from_number(place)))
}

fn slice(value: &Value, arguments: &[Js]) -> Result<Js, EvalFault> {
    let length = length(value)?;
    let start = bound(whole_argument(arguments.first(), 0.0)?, length);
    let end = bound(whole_argument(arguments.get(1), length as f64)?, length).max(start);
    match value {
        Value::List(list) => Ok(list.get(start..end).map(|part| Value::from(part.to_vec()))),
        Value::Str(text) if text.is_ascii() => Ok(text.get(start..end).map(Value::from)),
        Value::Str(text) => {
            let units: Vec<u16> = text.encode_utf16().skip(start).take(end - start).collect();
            // A Rust string cannot contain an unpaired surrogate, but the engine can.
            let part = String::from_utf16(&units).map_err(|_| EvalFault::JavaScript)?;
            Ok(Some(Value::from(part)))
        }
        _ => Err(EvalFault::JavaScript),
    }
}

fn length(value: &Value) -> Result<usize, EvalFault> {
    match super::property::field(&Some(value.clone()), "length")? {
        Some(Value::Int(length)) => Ok(length as usize),
        _ => Err(EvalFault::JavaScript),
    }
}

/// ToIntegerOrInfinity of an optional argument.
fn whole_argument(argument: Option<&Js>, otherwise: f64) -> Result<f64, EvalFault> {
    match argument {
        None | Some(None) => Ok(otherwise),
        Some(value) => match convert::number(value)? {
            number if number.is_nan() => Ok(0.0),
            number => Ok(number.trunc()),
        },
    }
}

/// Converts a position to a list index. A negative one counts from the end, and the result is
/// clamped.
fn bound(place: f64, length: usize) -> usize {
    let from_end = if place < 0.0 {
        place + length as f64
    } else {
        place
    };
    from_end.clamp(0.0, length as f64) as usize
}
