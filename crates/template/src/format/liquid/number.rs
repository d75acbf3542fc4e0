//! Numbers of Liquid's filters: whole numbers, and decimal numbers for which 0.1 + 0.2 is 0.3.

use quillet_core::Value;

/// A number.
#[derive(Clone, Copy, Debug)]
pub(super) enum LiquidNumber {
    Int(i64),
    Decimal(Decimal),
    /// Infinity or NaN, which have no decimal form.
    Float(f64),
}

/// A decimal number: `digits * 10^exponent`. Rounding to 38 digits loses less than the precision of
/// a float.
#[derive(Clone, Copy, Debug)]
pub(super) struct Decimal {
    digits: i128,
    exponent: i32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    Plus,
    Minus,
    Times,
    Over,
    Modulo,
}

/// Reason why a calculation has no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NumberError {
    ByZero,
    /// A whole number that does not fit into 64 bits.
    TooLarge,
    /// Infinity or NaN, which cannot become a whole number.
    NotFinite,
}

/// Converts a value to a number. For a text this is the number at its start. Other values give 0.
pub(super) fn number(value: &Value) -> Result<LiquidNumber, NumberError> {
    match value {
        Value::Int(number) => Ok(LiquidNumber::Int(*number)),
        Value::Float(number) => Ok(of_float(*number)),
        Value::Str(text) => of_text(text),
        _ => Ok(LiquidNumber::Int(0)),
    }
}

fn of_float(number: f64) -> LiquidNumber {
    if number.is_finite() {
        Decimal::read(&format!("{number:e}"))
            .map_or(LiquidNumber::Float(number), LiquidNumber::Decimal)
    } else {
        LiquidNumber::Float(number)
    }
}

fn of_text(text: &str) -> Result<LiquidNumber, NumberError> {
    let trimmed = text.trim_matches(super::parser::is_blank);
    let unsigned = trimmed.strip_prefix('-').unwrap_or(trimmed);
    let is_decimal = unsigned.split_once('.').is_some_and(|(whole, places)| {
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        digits(whole) && digits(places)
    });
    if is_decimal {
        Ok(Decimal::read(trimmed).map_or(LiquidNumber::Int(0), LiquidNumber::Decimal))
    } else {
        leading(text).map(LiquidNumber::Int)
    }
}

/// Parses the whole number at the start of a text. Returns 0 if there is none.
pub(super) fn leading(text: &str) -> Result<i64, NumberError> {
    let text = text.trim_start_matches(super::parser::is_blank);
    let (negative, rest) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    let mut number: i64 = 0;
    let mut before = '_';
    for c in rest.chars() {
        let digit = match c {
            '_' if before != '_' => 0,
            c => match c.to_digit(10) {
                Some(digit) => i64::from(digit),
                None => break,
            },
        };
        if c != '_' {
            let more = number.checked_mul(10).and_then(|number| {
                if negative {
                    number.checked_sub(digit)
                } else {
                    number.checked_add(digit)
                }
            });
            number = more.ok_or(NumberError::TooLarge)?;
        }
        before = c;
    }
    Ok(number)
}

/// Parses a whole number like Ruby's `Integer`.
pub(super) fn strict(text: &str) -> Option<i64> {
    let text = text.trim_matches(super::token::is_space);
    let (negative, rest) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let lower = rest.to_ascii_lowercase();
    let radixes = [("0x", 16), ("0b", 2), ("0o", 8), ("0d", 10)];
    let (digits, radix) = radixes
        .iter()
        .find_map(|(prefix, radix)| Some((lower.strip_prefix(prefix)?, *radix)))
        .unwrap_or(match lower.strip_prefix('0') {
            Some(octal) if !octal.is_empty() => (octal.trim_start_matches('_'), 8),
            _ => (&lower, 10),
        });
    let parts_are_whole = digits.split('_').all(|part| !part.is_empty());
    if !parts_are_whole || digits.starts_with(['-', '+']) {
        return None;
    }
    let digits = digits.replace('_', "");
    let signed = if negative {
        format!("-{digits}")
    } else {
        digits
    };
    i64::from_str_radix(&signed, radix).ok()
}

pub(super) fn apply(
    one: LiquidNumber,
    operation: Operation,
    other: LiquidNumber,
) -> Result<LiquidNumber, NumberError> {
    if let (LiquidNumber::Int(one), LiquidNumber::Int(other)) = (one, other) {
        let result = match operation {
            Operation::Over | Operation::Modulo if other == 0 => return Err(NumberError::ByZero),
            Operation::Plus => one.checked_add(other),
            Operation::Minus => one.checked_sub(other),
            Operation::Times => one.checked_mul(other),
            Operation::Over => floored(one, other),
            Operation::Modulo => Some(one.wrapping_rem(other)).map(|rest| {
                let wrong_side = rest != 0 && (rest < 0) != (other < 0);
                if wrong_side { rest + other } else { rest }
            }),
        };
        return result.map(LiquidNumber::Int).ok_or(NumberError::TooLarge);
    }
    let exact = match (decimal(one), decimal(other)) {
        (Some(one), Some(other)) => match operation {
            Operation::Plus => one.plus(other),
            Operation::Minus => one.plus(other.negated()),
            Operation::Times => one.times(other),
            Operation::Over => one.over(other),
            Operation::Modulo if other.digits == 0 => return Err(NumberError::ByZero),
            Operation::Modulo => one.modulo(other),
        },
        _ => None,
    };
    if let Some(decimal) = exact {
        return Ok(LiquidNumber::Decimal(decimal));
    }
    // Numbers this large, or with magnitudes this different, share no digits that a float can
    // represent.
    let (one, other) = (float(one), float(other));
    Ok(of_float(match operation {
        Operation::Plus => one + other,
        Operation::Minus => one - other,
        Operation::Times => one * other,
        Operation::Over => one / other,
        Operation::Modulo => one - other * (one / other).floor(),
    }))
}

fn floored(one: i64, other: i64) -> Option<i64> {
    let quotient = one.checked_div(other)?;
    let inexact = one.wrapping_rem(other) != 0;
    Some(quotient - i64::from(inexact && (one < 0) != (other < 0)))
}

fn decimal(number: LiquidNumber) -> Option<Decimal> {
    match number {
        LiquidNumber::Int(number) => Some(Decimal {
            digits: number.into(),
            exponent: 0,
        }),
        LiquidNumber::Decimal(decimal) => Some(decimal),
        LiquidNumber::Float(_) => None,
    }
}

fn float(number: LiquidNumber) -> f64 {
    match number {
        LiquidNumber::Int(number) => number as f64,
        LiquidNumber::Decimal(decimal) => decimal.to_float(),
        LiquidNumber::Float(number) => number,
    }
}

/// Whether the first number is greater than the second.
pub(super) fn is_greater(one: LiquidNumber, other: LiquidNumber) -> bool {
    match (one, other) {
        (LiquidNumber::Int(one), LiquidNumber::Int(other)) => one > other,
        _ => match (decimal(one), decimal(other)) {
            (Some(one), Some(other)) => match one.plus(other.negated()) {
                Some(difference) => difference.digits > 0,
                None => one.to_float() > other.to_float(),
            },
            _ => float(one) > float(other),
        },
    }
}

pub(super) fn absolute(number: LiquidNumber) -> Result<LiquidNumber, NumberError> {
    Ok(match number {
        LiquidNumber::Int(number) => {
            LiquidNumber::Int(number.checked_abs().ok_or(NumberError::TooLarge)?)
        }
        LiquidNumber::Decimal(decimal) => LiquidNumber::Decimal(Decimal {
            digits: decimal.digits.abs(),
            ..decimal
        }),
        LiquidNumber::Float(number) => LiquidNumber::Float(number.abs()),
    })
}

/// Rounds to a number of decimal places, with halves away from zero.
pub(super) fn rounded(number: LiquidNumber, places: i64) -> Result<LiquidNumber, NumberError> {
    let places = i32::try_from(places.clamp(-400, 400)).unwrap_or(0);
    match number {
        LiquidNumber::Int(number) if places >= 0 => Ok(LiquidNumber::Int(number)),
        LiquidNumber::Int(number) => {
            let decimal = Decimal {
                digits: number.into(),
                exponent: 0,
            };
            decimal.rounded(places).whole().map(LiquidNumber::Int)
        }
        LiquidNumber::Decimal(decimal) => Ok(LiquidNumber::Decimal(decimal.rounded(places))),
        LiquidNumber::Float(number) if places > 0 => Ok(LiquidNumber::Float(number)),
        LiquidNumber::Float(_) => Err(NumberError::NotFinite),
    }
}

/// Returns the ceiling if `up`, and otherwise the floor.
pub(super) fn whole(number: LiquidNumber, up: bool) -> Result<i64, NumberError> {
    match number {
        LiquidNumber::Int(number) => Ok(number),
        LiquidNumber::Decimal(decimal) => {
            if !up {
                decimal.floor()
            } else {
                decimal
                    .negated()
                    .floor()?
                    .checked_neg()
                    .ok_or(NumberError::TooLarge)
            }
        }
        LiquidNumber::Float(_) => Err(NumberError::NotFinite),
    }
}

/// Converts a number to a value of a template.
pub(super) fn value(number: LiquidNumber) -> Value {
    match number {
        LiquidNumber::Int(number) => Value::Int(number),
        LiquidNumber::Decimal(decimal) => Value::Float(decimal.to_float()),
        LiquidNumber::Float(number) => Value::Float(number),
    }
}

impl Decimal {
    /// Parses digits with an optional point and an optional exponent.
    fn read(text: &str) -> Option<Self> {
        let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
        let (whole, places) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        // Further digits are below the precision of a float.
        let places = &places[..places.len().min(30_usize.saturating_sub(whole.len()))];
        Some(Decimal {
            digits: format!("{whole}{places}").parse().ok()?,
            exponent: exponent.parse::<i32>().ok()? - i32::try_from(places.len()).ok()?,
        })
    }

    fn to_float(self) -> f64 {
        format!("{}e{}", self.digits, self.exponent)
            .parse()
            .unwrap_or(0.0)
    }

    fn negated(self) -> Self {
        Decimal {
            digits: -self.digits,
            ..self
        }
    }

    /// Converts both numbers to the smaller exponent. Returns `None` if the digits do not fit.
    fn aligned(self, other: Self) -> Option<(i128, i128, i32)> {
        let exponent = self.exponent.min(other.exponent);
        let scaled = |number: Decimal| {
            let places = number.exponent.abs_diff(exponent);
            match number.digits {
                0 => Some(0),
                digits => 10_i128.checked_pow(places)?.checked_mul(digits),
            }
        };
        Some((scaled(self)?, scaled(other)?, exponent))
    }

    fn plus(self, other: Self) -> Option<Self> {
        let (one, other, exponent) = self.aligned(other)?;
        Some(Decimal {
            digits: one.checked_add(other)?,
            exponent,
        })
    }

    fn times(self, other: Self) -> Option<Self> {
        let (one, other) = (self.shortened(), other.shortened());
        Some(Decimal {
            digits: one.digits.checked_mul(other.digits)?,
            exponent: one.exponent.checked_add(other.exponent)?,
        })
    }

    /// Returns the quotient with at least 18 digits.
    fn over(self, other: Self) -> Option<Self> {
        let (mut one, other) = (self.shortened(), other.shortened());
        if one.digits == 0 && other.digits != 0 {
            return Some(one);
        }
        while one.digits != 0 && one.digits.abs() < 10_i128.pow(36) {
            one.digits *= 10;
            one.exponent -= 1;
        }
        Some(Decimal {
            digits: one.digits.checked_div(other.digits)?,
            exponent: one.exponent.checked_sub(other.exponent)?,
        })
    }

    fn modulo(self, other: Self) -> Option<Self> {
        let (one, other, exponent) = self.aligned(other)?;
        let rest = one.checked_rem(other)?;
        let wrong_side = rest != 0 && (rest < 0) != (other < 0);
        Some(Decimal {
            digits: if wrong_side { rest + other } else { rest },
            exponent,
        })
    }

    /// Reduces a number to at most 18 digits.
    fn shortened(mut self) -> Self {
        while self.digits.abs() >= 10_i128.pow(18) {
            self.digits /= 10;
            self.exponent += 1;
        }
        self
    }

    fn rounded(self, places: i32) -> Self {
        let dropped = -self.exponent - places;
        if dropped <= 0 {
            return self;
        }
        let exponent = -places;
        let Some(power) = 10_i128.checked_pow(dropped.unsigned_abs()) else {
            return Decimal {
                digits: 0,
                exponent: 0,
            };
        };
        let rest = (self.digits % power).abs();
        let away = i128::from(rest * 2 >= power) * self.digits.signum();
        Decimal {
            digits: self.digits / power + away,
            exponent,
        }
    }

    fn floor(self) -> Result<i64, NumberError> {
        if self.exponent >= 0 {
            return self.whole();
        }
        let Some(power) = 10_i128.checked_pow(self.exponent.unsigned_abs()) else {
            return Ok(if self.digits < 0 { -1 } else { 0 });
        };
        i64::try_from(self.digits.div_euclid(power)).map_err(|_| NumberError::TooLarge)
    }

    /// Converts a rounded number to a whole number.
    fn whole(self) -> Result<i64, NumberError> {
        if self.digits == 0 {
            return Ok(0);
        }
        let power = 10_i128.checked_pow(self.exponent.unsigned_abs());
        let digits = if self.exponent >= 0 {
            power.and_then(|power| self.digits.checked_mul(power))
        } else {
            Some(power.map_or(0, |power| self.digits / power))
        };
        let whole = digits.and_then(|digits| i64::try_from(digits).ok());
        whole.ok_or(NumberError::TooLarge)
    }
}

/// Formats a float like Ruby.
pub(super) fn shown(number: f64) -> String {
    if number.is_nan() {
        return "NaN".into();
    }
    if number.is_infinite() {
        return if number > 0.0 {
            "Infinity"
        } else {
            "-Infinity"
        }
        .into();
    }
    let scientific = format!("{number:e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..15).contains(&exponent) {
        return format!("{number:?}");
    }
    let point = if mantissa.contains('.') { "" } else { ".0" };
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}{point}e{sign}{:02}", exponent.abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_print_as_in_ruby() {
        let cases = [
            (1e14, "100000000000000.0"),
            (1e15, "1.0e+15"),
            (1_234_567_890_123_456.0, "1.234567890123456e+15"),
            (123_456_789_012_345.0, "123456789012345.0"),
            (1e-4, "0.0001"),
            (1e-5, "1.0e-05"),
            (1e100, "1.0e+100"),
            (0.1 + 0.2, "0.30000000000000004"),
            (-0.0, "-0.0"),
            (f64::NEG_INFINITY, "-Infinity"),
        ];
        for (number, expected) in cases {
            assert_eq!(shown(number), expected);
        }
    }

    #[test]
    fn whole_numbers_are_read_as_in_ruby() {
        let cases = [
            ("0x1f", Some(31)),
            ("010", Some(8)),
            ("1__0", None),
            (" 5\n", Some(5)),
            ("5.", None),
            ("-0b11", Some(-3)),
            ("+5", Some(5)),
            ("1_000", Some(1000)),
            ("", None),
            ("0", Some(0)),
            ("--1", None),
            ("9223372036854775808", None),
        ];
        for (text, expected) in cases {
            assert_eq!(strict(text), expected, "{text:?}");
        }
        assert_eq!(leading(" -12abc"), Ok(-12));
        assert_eq!(leading("abc"), Ok(0));
        assert_eq!(leading("99999999999999999999"), Err(NumberError::TooLarge));
    }

    #[test]
    fn decimals_are_exact() {
        let calculate = |one: f64, operation, other: f64| {
            let result = apply(of_float(one), operation, of_float(other)).unwrap();
            float(result)
        };
        assert_eq!(calculate(0.1, Operation::Plus, 0.2), 0.3);
        assert_eq!(calculate(1.1, Operation::Times, 1.1), 1.21);
        assert_eq!(
            calculate(1.0, Operation::Over, 3.0),
            0.333_333_333_333_333_3
        );
        assert_eq!(
            calculate(1e20, Operation::Over, 3.0),
            3.333_333_333_333_333e19
        );
        assert_eq!(calculate(1.0, Operation::Over, 0.0), f64::INFINITY);
        assert_eq!(calculate(-7.5, Operation::Modulo, 2.0), 0.5);
        assert_eq!(calculate(1e300, Operation::Plus, 1e-300), 1e300);
    }
}
