//! Digits of numbers in Python's presentation types.

use super::spec::{Spec, SpecError};
use super::text::float_text;

/// Parts of a number. Padding and group separators are inserted between them.
#[derive(Debug)]
pub(super) struct NumberParts {
    pub(super) negative: bool,
    /// A prefix such as `0x`.
    pub(super) prefix: &'static str,
    /// Digits that may be grouped. Empty for a character, infinity and NaN.
    pub(super) digits: String,
    /// Remaining text: fraction, exponent, percent sign.
    pub(super) rest: String,
}

/// Maximum number of decimal places and of significant digits of a double.
const MOST_DIGITS: usize = 1_100;

pub(super) fn of_int(int: i64, name: &'static str, spec: &Spec) -> Result<NumberParts, SpecError> {
    let kind = spec.kind.unwrap_or('d');
    if "eEfFgG%".contains(kind) {
        return of_float(int as f64, name, spec);
    }
    if !"dnbcoxX".contains(kind) {
        return Err(SpecError::UnknownKind(kind, name));
    }
    if spec.precision.is_some() {
        return Err(SpecError::NotForInt("Precision"));
    }
    if spec.plain_zero {
        return Err(SpecError::NotForInt("Negative zero coercion (z)"));
    }
    if kind == 'c' {
        return character(int, spec);
    }
    let size = int.unsigned_abs();
    let (prefix, digits) = match kind {
        'b' => ("0b", format!("{size:b}")),
        'o' => ("0o", format!("{size:o}")),
        'x' => ("0x", format!("{size:x}")),
        'X' => ("0X", format!("{size:X}")),
        _ => ("", size.to_string()),
    };
    Ok(NumberParts {
        negative: int < 0,
        prefix: if spec.alternate { prefix } else { "" },
        digits,
        rest: String::new(),
    })
}

fn character(int: i64, spec: &Spec) -> Result<NumberParts, SpecError> {
    if spec.sign.is_some() {
        return Err(SpecError::NotForCharacter("Sign"));
    }
    if spec.alternate {
        return Err(SpecError::NotForCharacter("Alternate form (#)"));
    }
    let code = u32::try_from(int).ok().and_then(char::from_u32);
    Ok(NumberParts {
        negative: false,
        prefix: "",
        digits: String::new(),
        rest: code.ok_or(SpecError::NoCharacter)?.to_string(),
    })
}

pub(super) fn of_float(
    float: f64,
    name: &'static str,
    spec: &Spec,
) -> Result<NumberParts, SpecError> {
    let kind = spec.kind.unwrap_or('r');
    if !"reEfFgGn%".contains(kind) || spec.kind == Some('r') {
        return Err(SpecError::UnknownKind(kind, name));
    }
    let negative = float.is_sign_negative() && !float.is_nan();
    let size = match kind {
        '%' => float.abs() * 100.0,
        _ => float.abs(),
    };
    let mut text = if size.is_finite() {
        finite(size, kind, spec)
    } else {
        float_text(size)
    };
    if kind == '%' {
        text.push('%');
    }
    if kind.is_ascii_uppercase() {
        text.make_ascii_uppercase();
    }
    let is_zero = !text.contains(|c: char| ('1'..='9').contains(&c));
    let whole = text.find(|c: char| !c.is_ascii_digit());
    let rest = text.split_off(whole.unwrap_or(text.len()));
    Ok(NumberParts {
        negative: negative && !(spec.plain_zero && is_zero && size.is_finite()),
        prefix: "",
        digits: text,
        rest,
    })
}

fn finite(size: f64, kind: char, spec: &Spec) -> String {
    let digits = spec.precision.unwrap_or(6);
    match kind {
        'f' | 'F' | '%' => fixed(size, digits, spec.alternate),
        'e' | 'E' => {
            let mantissa = format!("{size:.*e}", digits.min(MOST_DIGITS));
            let (mantissa, power) = mantissa.split_once('e').unwrap_or((&mantissa, "0"));
            let mantissa = filled(mantissa.to_owned(), digits, spec.alternate);
            with_power(&mantissa, power)
        }
        // Without a type and a precision, the number is formatted as by `repr`. With a precision,
        // the number is formatted as by `g`, with at least one digit after the point.
        'r' if spec.precision.is_none() => {
            if spec.alternate {
                with_point(float_text(size))
            } else {
                float_text(size)
            }
        }
        'r' => general(size, digits.max(1), spec.alternate, true),
        _ => general(size, digits.max(1), spec.alternate, false),
    }
}

fn fixed(size: f64, decimals: usize, alternate: bool) -> String {
    let text = format!("{size:.*}", decimals.min(MOST_DIGITS));
    filled(text, decimals, alternate)
}

/// Appends zeros after the last digit of a double, and the point that the alternate form requires.
fn filled(mut text: String, decimals: usize, alternate: bool) -> String {
    if decimals == 0 && alternate {
        text.push('.');
    }
    let zeros = decimals.saturating_sub(MOST_DIGITS);
    text.extend(std::iter::repeat_n('0', zeros));
    text
}

/// Returns a number in scientific form. As in Python, the exponent has a sign and at least two
/// digits.
fn with_power(mantissa: &str, power: &str) -> String {
    match power.strip_prefix('-') {
        Some(power) => format!("{mantissa}e-{power:0>2}"),
        None => format!("{mantissa}e+{power:0>2}"),
    }
}

/// Inserts a point before the exponent if there is none.
fn with_point(text: String) -> String {
    match text.split_once('e') {
        Some((mantissa, power)) if !mantissa.contains('.') => format!("{mantissa}.e{power}"),
        _ => text,
    }
}

/// Returns the plain or the scientific form. Trailing zeros are removed, unless the alternate form
/// keeps them.
fn general(size: f64, precision: usize, alternate: bool, decimal: bool) -> String {
    let scientific = format!("{size:.*e}", precision.min(MOST_DIGITS) - 1);
    let (mantissa, power) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i64 = power.parse().unwrap_or(0);
    let limit = i64::try_from(precision).unwrap_or(i64::MAX) - i64::from(decimal);
    let trimmed = |text: String, decimals: usize| {
        if alternate {
            filled(text, decimals, true)
        } else {
            without_zeros(&text).to_owned()
        }
    };
    if exponent < -4 || exponent >= limit {
        let mantissa = trimmed(mantissa.to_owned(), precision - 1);
        return with_power(&mantissa, power);
    }
    let decimals = precision.saturating_add_signed(isize::try_from(-1 - exponent).unwrap_or(0));
    let text = format!("{size:.*}", decimals.min(MOST_DIGITS));
    let text = trimmed(text, decimals);
    if decimal && !text.contains('.') {
        text + ".0"
    } else {
        text
    }
}

fn without_zeros(digits: &str) -> &str {
    if digits.contains('.') {
        digits.trim_end_matches('0').trim_end_matches('.')
    } else {
        digits
    }
}
