//! JavaScript's conversion of values to text and booleans, and access to properties. Handlebars and
//! Mustache use them.

use std::borrow::Cow;
use std::io::Write;

use quillet_core::Value;

use crate::{Pass, StopReason};

/// Function that returns the replacement of a byte, if the byte must be escaped.
pub(super) type Escape = fn(u8) -> Option<&'static str>;

/// Writes the text of a value like `String(value)`, except that `null` prints nothing. Integers
/// keep all digits, whereas JavaScript rounds beyond 2^53.
pub(super) fn write(
    pass: &mut Pass<'_>,
    value: &Value,
    escape: Option<Escape>,
) -> Result<(), StopReason> {
    match value {
        Value::Null => Ok(()),
        Value::Bool(value) => pass.write(if *value { "true" } else { "false" }),
        Value::Int(value) => {
            integer(pass.out(), *value);
            pass.check_output()
        }
        Value::Float(value) => {
            number(pass.out(), *value);
            pass.check_output()
        }
        Value::Str(text) => write_text(pass, text, escape),
        Value::List(list) => {
            for (index, item) in list.iter().enumerate() {
                pass.step()?;
                if index > 0 {
                    pass.write(",")?;
                }
                write(pass, item, escape)?;
            }
            Ok(())
        }
        Value::Map(map) => match map.display_value() {
            Some(value) => write(pass, value, escape),
            None => pass.write("[object Object]"),
        },
    }
}

/// Writes a text and escapes it.
pub(super) fn write_text(
    pass: &mut Pass<'_>,
    text: &str,
    escape: Option<Escape>,
) -> Result<(), StopReason> {
    let Some(escape) = escape else {
        return pass.write(text);
    };
    let mut written = 0;
    for (at, byte) in text.bytes().enumerate() {
        // Only ASCII is escaped, so both offsets are character boundaries.
        if let Some(instead) = escape(byte) {
            pass.write(text.get(written..at).unwrap_or_default())?;
            pass.write(instead)?;
            written = at + 1;
        }
    }
    pass.write(text.get(written..).unwrap_or_default())
}

/// Returns the text of a value like [`write`], without escapes.
pub(super) fn text<'v>(pass: &mut Pass<'_>, value: &'v Value) -> Result<Cow<'v, str>, StopReason> {
    match value {
        Value::Str(text) => Ok(Cow::Borrowed(text)),
        Value::Map(map) => match map.display_value() {
            Some(value) => text(pass, value),
            None => Ok(Cow::Borrowed("[object Object]")),
        },
        Value::List(list) => {
            let mut joined = String::new();
            for (index, item) in list.iter().enumerate() {
                pass.step()?;
                if index > 0 {
                    joined.push(',');
                }
                let item = text(pass, item)?;
                pass.charge(item.len() + 1)?;
                joined.push_str(&item);
            }
            Ok(Cow::Owned(joined))
        }
        scalar => Ok(Cow::Owned(scalar_text(scalar))),
    }
}

/// Returns the text of a number, a boolean or null.
fn scalar_text(value: &Value) -> String {
    let mut out = Vec::new();
    match value {
        Value::Bool(value) => return value.to_string(),
        Value::Int(value) => integer(&mut out, *value),
        Value::Float(value) => number(&mut out, *value),
        _ => {}
    }
    String::from_utf8(out).unwrap_or_default()
}

/// Appends an integer.
pub(super) fn integer(out: &mut Vec<u8>, value: i64) {
    if let Ok(digit @ 0..10) = u8::try_from(value) {
        out.push(b'0' + digit);
        return;
    }
    // Writing to memory cannot fail.
    let _ = write!(out, "{value}");
}

/// Appends a number like JavaScript, with the fewest digits that parse to it. An exponent is used
/// below 1e-6 and from 1e21 on.
pub(super) fn number(out: &mut Vec<u8>, value: f64) {
    if value.fract() == 0.0 && value.abs() < 1e15 {
        return integer(out, value as i64);
    }
    if value.is_nan() {
        return out.extend_from_slice(b"NaN");
    }
    if value.is_sign_negative() {
        out.push(b'-');
    }
    if value.is_infinite() {
        return out.extend_from_slice(b"Infinity");
    }
    let scientific = format!("{:e}", value.abs());
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let digits: Vec<u8> = mantissa.bytes().filter(|byte| *byte != b'.').collect();
    lay_out(out, &digits, exponent.parse().unwrap_or(0));
}

/// Writes the digits of a number. The first digit has the weight 10^`exponent`.
fn lay_out(out: &mut Vec<u8>, digits: &[u8], exponent: i32) {
    let zeros = |out: &mut Vec<u8>, count: usize| out.resize(out.len() + count, b'0');
    // This is the number of digits before the point.
    let whole = usize::try_from(exponent + 1).unwrap_or(0);
    match exponent {
        0..21 if digits.len() <= whole => {
            out.extend_from_slice(digits);
            zeros(out, whole - digits.len());
        }
        0..21 => {
            let (before, after) = digits.split_at(whole);
            out.extend_from_slice(before);
            out.push(b'.');
            out.extend_from_slice(after);
        }
        -6..0 => {
            out.extend_from_slice(b"0.");
            zeros(out, usize::try_from(-1 - exponent).unwrap_or(0));
            out.extend_from_slice(digits);
        }
        _ => {
            let (first, rest) = digits.split_at(digits.len().min(1));
            out.extend_from_slice(first);
            if !rest.is_empty() {
                out.push(b'.');
                out.extend_from_slice(rest);
            }
            let sign = if exponent < 0 { '-' } else { '+' };
            let _ = write!(out, "e{sign}{}", exponent.abs());
        }
    }
}

/// Whether a value is true in JavaScript. `null`, `false`, zero, NaN and the empty text are false.
pub(super) fn is_true(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(value) => *value,
        Value::Int(value) => *value != 0,
        Value::Float(value) => *value != 0.0 && !value.is_nan(),
        Value::Str(text) => !text.is_empty(),
        Value::List(_) => true,
        Value::Map(map) => map.represented_value().is_none_or(is_true),
    }
}

/// Value of a property: borrowed from the data, or computed.
#[derive(Debug, PartialEq)]
pub(super) enum PropertyValue<'v> {
    /// Borrowed from the data.
    Held(&'v Value),
    /// A length or a character.
    Made(Value),
}

/// Returns a value's own property: an entry of an object, an item or the `length` of a list, a
/// character or the `length` of a text (both in UTF-16 units). Properties of JavaScript's
/// prototypes are not available.
pub(super) fn property<'v>(value: &'v Value, name: &str) -> Option<PropertyValue<'v>> {
    match value {
        Value::Map(map) if map.is_fallback() => {
            Some(PropertyValue::Made(standing_in(value, map, name)))
        }
        Value::Map(map) => map.get(name).map(PropertyValue::Held),
        Value::List(list) if name == "length" => Some(made(list.len())),
        Value::List(list) => list.get(index(name)?).map(PropertyValue::Held),
        Value::Str(text) if name == "length" => Some(made(text.encode_utf16().count())),
        Value::Str(text) => {
            let unit = text.encode_utf16().nth(index(name)?)?;
            let text = String::from_utf16_lossy(&[unit]);
            Some(PropertyValue::Made(text.into()))
        }
        _ => None,
    }
}

/// Returns a property inside a fallback value. It is empty, unless the fallback has content.
#[cold]
fn standing_in(value: &Value, map: &quillet_core::Map, name: &str) -> Value {
    let meant = map
        .represented_value()
        .filter(|_| value.as_str() != Some(""));
    match meant.and_then(|meant| property(meant, name)) {
        Some(PropertyValue::Held(value)) => value.clone().into_fallback(),
        Some(PropertyValue::Made(value)) => value,
        None => map.fallback_field(name),
    }
}

fn made<'v>(length: usize) -> PropertyValue<'v> {
    PropertyValue::Made(Value::Int(i64::try_from(length).unwrap_or(i64::MAX)))
}

/// Parses an array index, which consists of digits without a leading zero.
fn index(name: &str) -> Option<usize> {
    let first = name.bytes().next()?;
    if first.is_ascii_digit() && (first != b'0' || name.len() == 1) {
        name.parse().ok()
    } else {
        None
    }
}

/// Whether `\s` in JavaScript's regular expressions matches a character.
pub(crate) fn is_space(c: char) -> bool {
    c == '\u{FEFF}' || (c != '\u{85}' && c.is_whitespace())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_print_as_in_javascript() {
        let cases = [
            (0.0, "0"),
            (-0.0, "0"),
            (1.5, "1.5"),
            (-2.25, "-2.25"),
            (100.0, "100"),
            (1e15, "1000000000000000"),
            (123_456_789_012_345_680_000.0, "123456789012345680000"),
            (1e21, "1e+21"),
            (1.5e300, "1.5e+300"),
            (0.1, "0.1"),
            (0.000_001, "0.000001"),
            (0.000_000_12, "1.2e-7"),
            (1e-7, "1e-7"),
            (1234.5678, "1234.5678"),
            (f64::NAN, "NaN"),
            (f64::NEG_INFINITY, "-Infinity"),
        ];
        for (value, expected) in cases {
            let mut out = Vec::new();
            number(&mut out, value);
            assert_eq!(String::from_utf8(out).unwrap(), expected);
        }
    }

    #[test]
    fn properties_are_own_ones() {
        let value = quillet_core::json::parse(r#"{"a":[1,{"b":2}],"t":"aé😀"}"#).unwrap();
        let get = |path: &[&str]| {
            let mut value = value.clone();
            for name in path {
                value = match property(&value, name)? {
                    PropertyValue::Held(value) => value.clone(),
                    PropertyValue::Made(value) => value,
                };
            }
            Some(value)
        };
        assert_eq!(get(&["a", "1", "b"]), Some(Value::Int(2)));
        assert_eq!(get(&["a", "length"]), Some(Value::Int(2)));
        assert_eq!(get(&["t", "length"]), Some(Value::Int(4)));
        assert_eq!(get(&["t", "1"]), Some("é".into()));
        for missing in [
            &["a", "01"][..],
            &["a", "2"],
            &["a", "constructor"],
            &["constructor"],
            &["t", "toString"],
            &["a", "-1"],
        ] {
            assert_eq!(get(missing), None, "{missing:?}");
        }
    }
}
