//! Numeric conversion of any value, like the Go library `cast`. Values that are not numbers become
//! 0.

use super::super::{GoNumber, GoValue};

/// Converts a value to an integer.
pub(super) fn to_int(value: &GoValue) -> i64 {
    match value {
        GoValue::Bool(value) => i64::from(*value),
        GoValue::Str(text) => parse_int(trim_zero_decimal(&text.to_text())).unwrap_or(0),
        other => match other.number() {
            Some(GoNumber::Int(value)) => value,
            Some(GoNumber::Uint(value)) => value as i64,
            Some(GoNumber::Float(value)) => truncate(value),
            None => 0,
        },
    }
}

/// Converts a value to a float.
pub(super) fn to_float(value: &GoValue) -> f64 {
    match value {
        GoValue::Bool(value) => f64::from(u8::from(*value)),
        GoValue::Str(text) => parse_float(&text.to_text()).unwrap_or(0.0),
        other => match other.number() {
            Some(GoNumber::Int(value)) => value as f64,
            Some(GoNumber::Uint(value)) => value as f64,
            Some(GoNumber::Float(value)) => value,
            None => 0.0,
        },
    }
}

/// Converts a float to an integer. As in Go on amd64, a value out of range becomes the smallest
/// integer, whereas Rust's conversion would saturate.
fn truncate(value: f64) -> i64 {
    const TOO_LARGE: f64 = 9_223_372_036_854_775_808.0;
    if value.is_nan() || !(-TOO_LARGE..TOO_LARGE).contains(&value) {
        return i64::MIN;
    }
    value as i64
}

/// Removes a fraction of zeros, because `cast` accepts `1.00` as an integer, but not `1.5`.
fn trim_zero_decimal(text: &str) -> &str {
    match text.split_once('.') {
        Some((whole, zeros)) if !zeros.is_empty() && zeros.bytes().all(|b| b == b'0') => whole,
        _ => text,
    }
}

/// Parses an integer like Go's `ParseInt` with base 0: a sign, a base prefix, and, after a prefix,
/// underscores between digits.
fn parse_int(text: &str) -> Option<i64> {
    let (negative, digits) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    if !underscores_separate(digits) {
        return None;
    }
    let (base, digits) = base(digits);
    let digits = digits.replace('_', "");
    if digits.starts_with(['+', '-']) {
        return None;
    }
    let value = i128::from(u64::from_str_radix(&digits, base).ok()?);
    i64::try_from(if negative { -value } else { value }).ok()
}

/// Whether all underscores are valid in Go: between digits, or between the base prefix and a digit.
fn underscores_separate(digits: &str) -> bool {
    let apart = |piece: &str| !piece.is_empty();
    !digits.contains('_') || digits.split('_').all(apart)
}

fn base(digits: &str) -> (u32, &str) {
    let lower = digits.get(..2).map(str::to_ascii_lowercase);
    match lower.as_deref() {
        Some("0x") => (16, &digits[2..]),
        Some("0b") => (2, &digits[2..]),
        Some("0o") => (8, &digits[2..]),
        _ if digits.len() > 1 && digits.starts_with('0') => (8, &digits[1..]),
        _ => (10, digits),
    }
}

/// Parses an integer like Go's `Atoi`: decimal digits with an optional sign.
pub(super) fn atoi(text: &str) -> Option<i64> {
    text.parse().ok()
}

/// Parses a float like Go's `ParseFloat`, without hexadecimal floats.
fn parse_float(text: &str) -> Option<f64> {
    let digits = text.trim_start_matches(['+', '-']);
    let signs = text.len() - digits.len();
    let spaced = digits.contains(|c: char| c.is_whitespace());
    if spaced || signs > 1 || !underscores_separate(digits) {
        return None;
    }
    text.replace('_', "").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_number_is_zero() {
        let cases = [
            ("7", 7),
            ("-7", -7),
            ("x", 0),
            ("", 0),
            ("1.5", 0),
            ("1.0", 1),
            ("010", 8),
            ("0x1F", 31),
            ("1_000", 1000),
            ("1__0", 0),
            ("9223372036854775808", 0),
        ];
        for (text, wanted) in cases {
            assert_eq!(to_int(&text.into()), wanted, "{text}");
        }
        assert_eq!(to_int(&GoValue::Float(-2.9)), -2);
        assert_eq!(to_int(&GoValue::Float(1e300)), i64::MIN);
        assert_eq!(to_int(&GoValue::Bool(true)), 1);
        assert_eq!(to_float(&"2.5e3".into()), 2500.0);
        assert_eq!(to_float(&"nope".into()), 0.0);
    }
}
