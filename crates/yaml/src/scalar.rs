//! YAML 1.2's core schema, which decides which plain scalars are numbers, booleans or null.

use std::sync::Arc;

use quillet_core::Value;

/// Maximum length of a number: the digits that a 64-bit float can distinguish, and its exponent.
const MOST_DIGITS: usize = 1100;

/// Returns the value of a plain scalar. Numbers that JSON cannot represent (`.inf`, `.nan`, out of
/// range) stay text.
pub(crate) fn plain(text: &Arc<str>) -> Value {
    // The rules are in the order of the core schema; a scalar matches at most one rule.
    null(text)
        .or_else(|| boolean(text))
        .or_else(|| integer(text))
        .or_else(|| float(text))
        .unwrap_or_else(|| Value::Str(Arc::clone(text)))
}

pub(crate) fn null(text: &str) -> Option<Value> {
    matches!(text, "" | "~" | "null" | "Null" | "NULL").then_some(Value::Null)
}

pub(crate) fn boolean(text: &str) -> Option<Value> {
    match text {
        "true" | "True" | "TRUE" => Some(Value::Bool(true)),
        "false" | "False" | "FALSE" => Some(Value::Bool(false)),
        _ => None,
    }
}

/// Parses a whole number; one above 64 bits becomes a float.
pub(crate) fn integer(text: &str) -> Option<Value> {
    if let Some(digits) = text.strip_prefix("0x") {
        return radix(digits, 16);
    }
    if let Some(digits) = text.strip_prefix("0o") {
        return radix(digits, 8);
    }
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    match text.parse() {
        // A number of more than 64 bits becomes a float, as in JSON readers.
        Ok(number) => Some(Value::Int(number)),
        Err(_) => finite(text),
    }
}

fn radix(digits: &str, radix: u32) -> Option<Value> {
    // `from_str_radix` would accept a sign, which the schema does not allow here.
    let plain = digits.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let number = i64::from_str_radix(digits, radix).ok();
    number.filter(|_| plain).map(Value::Int)
}

/// Parses `[-+]? ( \. [0-9]+ | [0-9]+ ( \. [0-9]* )? ) ( [eE] [-+]? [0-9]+ )?`.
pub(crate) fn float(text: &str) -> Option<Value> {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let digits = unsigned.trim_start_matches('.');
    let begins = digits.bytes().next()?.is_ascii_digit() && unsigned.len() - digits.len() <= 1;
    // Rust's float parser also accepts `inf`, `nan` and `infinity`, which JSON cannot represent.
    let number = |byte: u8| byte.is_ascii_digit() || b".eE+-".contains(&byte);
    if !begins || !unsigned.bytes().all(number) {
        return None;
    }
    finite(text)
}

fn finite(text: &str) -> Option<Value> {
    // Parsing a number takes time in proportion to its digits.
    if text.len() > MOST_DIGITS {
        return None;
    }
    let number: f64 = text.parse().ok()?;
    number.is_finite().then_some(Value::Float(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_texts_have_the_core_schemas_values() {
        let text = |text: &str| Value::from(text);
        let table = [
            ("", Value::Null),
            ("~", Value::Null),
            ("True", Value::Bool(true)),
            ("yes", text("yes")),
            ("12", Value::Int(12)),
            ("+12", Value::Int(12)),
            ("-0x1F", text("-0x1F")),
            ("0x1F", Value::Int(31)),
            ("0o17", Value::Int(15)),
            ("017", Value::Int(17)),
            ("0x-1", text("0x-1")),
            (
                "9223372036854775808",
                Value::Float(9_223_372_036_854_775_808.0),
            ),
            ("1.5", Value::Float(1.5)),
            ("1.", Value::Float(1.0)),
            (".5", Value::Float(0.5)),
            ("..5", text("..5")),
            ("1..5", text("1..5")),
            ("1e3", Value::Float(1000.0)),
            ("1e999", text("1e999")),
            (".inf", text(".inf")),
            ("1_000", text("1_000")),
            ("-", text("-")),
            ("2025-02-04", text("2025-02-04")),
        ];
        for (written, value) in table {
            assert_eq!(plain(&written.into()), value, "{written}");
        }
    }

    #[test]
    fn a_number_of_a_million_digits_stays_a_text() {
        let digits: Arc<str> = "9".repeat(1_000_000).into();
        assert_eq!(plain(&digits), Value::Str(Arc::clone(&digits)));
    }
}
