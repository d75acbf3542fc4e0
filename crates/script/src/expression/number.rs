//! Parses and formats numbers as JavaScript does.

use quillet_core::Value;

use super::characters::{is_space, radix_prefix};

/// Converts a number to a value. An integer that fits in 64 bits becomes `Int`, except `-0`, which
/// stays a float.
///
/// ```
/// use quillet_core::Value;
/// use quillet_script::expression::from_number;
///
/// assert_eq!(from_number(2.0), Value::Int(2));
/// assert_eq!(from_number(2.5), Value::Float(2.5));
/// ```
#[must_use]
pub fn from_number(number: f64) -> Value {
    // 2^63 is the first integer beyond an `i64`.
    let fits = (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&number);
    let minus_zero = number == 0.0 && number.is_sign_negative();
    if fits && number.fract() == 0.0 && !minus_zero {
        Value::Int(number as i64)
    } else {
        Value::Float(number)
    }
}

/// Formats a number like JavaScript's `String(number)` (ECMAScript, Number::toString).
///
/// ```
/// use quillet_script::expression::format_number;
///
/// assert_eq!(format_number(5.0), "5");
/// assert_eq!(format_number(0.25), "0.25");
/// assert_eq!(format_number(1e21), "1e+21");
/// ```
#[must_use]
pub fn format_number(number: f64) -> String {
    if number.is_nan() {
        return "NaN".to_owned();
    }
    // Also true for -0, because JavaScript prints both zeros as `0`.
    if number == 0.0 {
        return "0".to_owned();
    }
    if number < 0.0 {
        return format!("-{}", format_number(-number));
    }
    if number.is_infinite() {
        return "Infinity".to_owned();
    }
    let (digits, exponent) = shortest(number);
    layout(&digits, exponent + 1)
}

/// Returns the shortest digits that identify a double, and the exponent of the first one.
fn shortest(number: f64) -> (String, i32) {
    let (digits, exponent) = scientific(&format!("{number:e}"));
    if digits.len() < 16 {
        return (digits, exponent);
    }
    // If two such numbers are equally near, ECMAScript requires the even one. Rust follows this
    // rule only with an explicit number of digits.
    let precision = digits.len() - 1;
    scientific(&format!("{number:.precision$e}"))
}

fn scientific(text: &str) -> (String, i32) {
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    (mantissa.replace('.', ""), exponent.parse().unwrap_or(0))
}

/// Places the decimal point after the first `point` digits.
fn layout(digits: &str, point: i32) -> String {
    let count = digits.len() as i32;
    if count <= point && point <= 21 {
        return format!("{digits}{}", "0".repeat((point - count) as usize));
    }
    if 0 < point && point <= 21 {
        let (whole, fraction) = digits.split_at(point as usize);
        return format!("{whole}.{fraction}");
    }
    if -6 < point && point <= 0 {
        return format!("0.{}{digits}", "0".repeat(-point as usize));
    }
    let sign = if point > 0 { '+' } else { '-' };
    let exponent = (point - 1).abs();
    match digits.split_at(1) {
        (first, "") => format!("{first}e{sign}{exponent}"),
        (first, rest) => format!("{first}.{rest}e{sign}{exponent}"),
    }
}

/// Parses a number like JavaScript's `Number(text)`; invalid text is NaN.
///
/// ```
/// use quillet_script::expression::parse_number;
///
/// assert_eq!(parse_number(" 2.5 "), 2.5);
/// assert_eq!(parse_number("0x10"), 16.0);
/// assert!(parse_number("two").is_nan());
/// ```
#[must_use]
pub fn parse_number(text: &str) -> f64 {
    let text = text.trim_matches(is_space);
    if text.is_empty() {
        return 0.0;
    }
    if let Some((digits, radix)) = radix_prefix(text) {
        return whole_number(digits, radix).unwrap_or(f64::NAN);
    }
    match text.strip_prefix(['+', '-']).unwrap_or(text) {
        "Infinity" if text.starts_with('-') => f64::NEG_INFINITY,
        "Infinity" => f64::INFINITY,
        // Checked first, because Rust also parses `inf` and `nan`, but JavaScript does not.
        bare if is_decimal(bare) => text.parse().unwrap_or(f64::NAN),
        _ => f64::NAN,
    }
}

/// Parses digits of a base and rounds once at the end, as for a literal.
pub(super) fn whole_number(digits: &str, radix: u32) -> Option<f64> {
    if digits.is_empty() || !digits.chars().all(|c| c.is_digit(radix)) {
        return None;
    }
    if let Ok(exact) = u128::from_str_radix(digits, radix) {
        return Some(exact as f64);
    }
    Some(long_whole_number(digits, radix))
}

/// The base is a power of two, so a long number is its highest 64 bits, a sticky bit for the digits
/// that were cut off, and a shift.
fn long_whole_number(digits: &str, radix: u32) -> f64 {
    let bits_each = radix.trailing_zeros();
    let mut kept: u128 = 0;
    let mut shift = 0_i32;
    for digit in digits.chars().filter_map(|c| c.to_digit(radix)) {
        // 100 bits exceed the 53 of a double, so later digits matter only as a sticky bit.
        if kept >> 100 == 0 {
            kept = (kept << bits_each) | u128::from(digit);
        } else {
            shift = shift.saturating_add(bits_each as i32);
            kept |= u128::from(digit != 0);
        }
    }
    kept as f64 * 2_f64.powi(shift)
}

fn is_decimal(text: &str) -> bool {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (text, None),
    };
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let has_digits = !(whole.is_empty() && fraction.is_empty());
    has_digits && digits(whole) && digits(fraction) && exponent.is_none_or(is_exponent)
}

fn is_exponent(text: &str) -> bool {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_print_as_in_javascript() {
        for (number, text) in [
            (0.1 + 0.2, "0.30000000000000004"),
            (-0.0, "0"),
            (1e21, "1e+21"),
            (1e20, "100000000000000000000"),
            (123456.75, "123456.75"),
            (1e-6, "0.000001"),
            (1e-7, "1e-7"),
            (-1.5e-9, "-1.5e-9"),
            (5e-324, "5e-324"),
            (-6_324_352_348_890_601.0 / 4.0, "-1581088087222650.2"),
            (f64::MAX, "1.7976931348623157e+308"),
            (f64::NEG_INFINITY, "-Infinity"),
        ] {
            assert_eq!(format_number(number), text);
        }
    }

    #[test]
    fn texts_become_numbers_as_in_javascript() {
        for (text, number) in [
            ("", 0.0),
            (" \u{feff}12\n", 12.0),
            ("0x1F", 31.0),
            ("-Infinity", f64::NEG_INFINITY),
            ("1e3", 1000.0),
            (".5", 0.5),
            ("5.", 5.0),
        ] {
            assert_eq!(parse_number(text), number, "{text}");
        }
        for text in ["inf", "nan", "1_0", "-0x1", "1e", ".", "12px", "\u{85}1"] {
            assert!(parse_number(text).is_nan(), "{text}");
        }
    }

    #[test]
    fn a_long_hex_number_rounds_once() {
        let digits = "8".to_owned() + &"0".repeat(40) + "1";
        assert_eq!(whole_number(&digits, 16), Some(8.0 * 16_f64.powi(41)));
    }
}
