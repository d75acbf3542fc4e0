//! Formatting of floating-point numbers, with Go's rules for shortest digits and for switching to
//! an exponent.

use std::io::Write;

use super::integer::{Integer, decimal};
use super::sink::LimitedBuffer;
use super::spec::Spec;

/// Maximum number of decimal places and of significant digits of a finite number. Further digits
/// are zeros.
const MOST_FRACTION: usize = 1074;
const MOST_SIGNIFICANT: usize = 767;

/// Writes a number with a verb. Returns `false` if the verb does not apply to floats.
pub(super) fn float(sink: &mut LimitedBuffer<'_>, value: f64, verb: char, spec: &Spec) -> bool {
    let (form, precision) = match verb {
        'v' => ('g', None),
        'b' | 'g' | 'G' | 'x' | 'X' => (verb, None),
        'f' | 'e' | 'E' => (verb, Some(6)),
        'F' => ('f', Some(6)),
        _ => return false,
    };
    let precision = spec.precision.or(precision);
    if value.is_finite() {
        finite(sink, value, form, precision, spec);
    } else {
        not_finite(sink, value, spec);
    }
    true
}

/// Writes a number like `%v` without flags.
pub(super) fn shortest(sink: &mut LimitedBuffer<'_>, value: f64) {
    // Most numbers of prompts are small and whole.
    if value.fract() == 0.0 && value.abs() < 1e6 && (value != 0.0 || value.is_sign_positive()) {
        return decimal(sink, Integer::from(value as i64));
    }
    if value.is_finite() {
        finite(sink, value, 'g', None, &Spec::default());
    } else {
        not_finite(sink, value, &Spec::default());
    }
}

/// Writes infinity or NaN. Infinity always has a sign, and neither is padded with zeros.
fn not_finite(sink: &mut LimitedBuffer<'_>, value: f64, spec: &Spec) {
    let start = sink.position();
    let sign = spec.sign(value == f64::NEG_INFINITY);
    let default = value.is_infinite().then_some(b'+');
    if let Some(sign) = sign.or(default) {
        sink.byte(sign);
    }
    sink.write(if value.is_nan() { b"NaN" } else { b"Inf" });
    sink.pad(start, &spec.without_zero());
}

fn finite(
    sink: &mut LimitedBuffer<'_>,
    value: f64,
    form: char,
    precision: Option<usize>,
    spec: &Spec,
) {
    let start = sink.position();
    if let Some(sign) = spec.sign(value.is_sign_negative()) {
        sink.byte(sign);
    }
    let unsigned = sink.position();
    let least = match form {
        'g' | 'G' | 'b' => 1,
        _ => precision.unwrap_or(1),
    };
    sink.append(least, |out| magnitude(out, value.abs(), form, precision));
    if spec.sharp && form != 'b' {
        keep_zeros(sink, unsigned, form, precision);
    }
    // Zero padding goes between the sign and the digits.
    let width = spec.width.unwrap_or(0);
    if spec.padding() == b'0' {
        let missing = width.saturating_sub(sink.position() - start);
        sink.insert(unsigned, b'0', missing);
    } else {
        sink.pad(start, spec);
    }
}

/// Appends a finite, nonnegative number.
fn magnitude(out: &mut Vec<u8>, value: f64, form: char, precision: Option<usize>) {
    match form {
        'b' => binary(out, value),
        'x' | 'X' => hexadecimal(out, value, form, precision),
        'e' | 'E' => {
            let digits = match precision {
                Some(precision) => Digits::rounded(value, precision.saturating_add(1)),
                None => Digits::shortest(value),
            };
            let places = precision.unwrap_or(digits.len.saturating_sub(1));
            exponential(out, &digits, places, form);
        }
        'f' => fixed(out, value, precision.unwrap_or(0)),
        _ => general(out, value, form, precision),
    }
}

/// Significant decimal digits without trailing zeros: `0.d₁d₂d₃… × 10^point`.
struct Digits {
    buffer: [u8; MOST_SIGNIFICANT + 16],
    len: usize,
    point: i32,
}

impl Digits {
    fn shortest(value: f64) -> Self {
        let shortest = Digits::read(|buffer| write!(buffer, "{value:e}"));
        if shortest.len < 16 {
            return shortest;
        }
        // Two numbers with equally few digits can be equally close. Go takes the one with an even
        // last digit, but Rust may take either.
        let nearest = Digits::rounded(value, shortest.len);
        if nearest.value() == Some(value) {
            nearest
        } else {
            shortest
        }
    }

    /// Returns the number that these digits parse to.
    fn value(&self) -> Option<f64> {
        let digits = std::str::from_utf8(self.as_slice()).ok()?;
        format!("0.{digits}e{}", self.point).parse().ok()
    }

    fn rounded(value: f64, significant: usize) -> Self {
        let places = significant.clamp(1, MOST_SIGNIFICANT) - 1;
        Digits::read(|buffer| write!(buffer, "{value:.places$e}"))
    }

    /// Parses Rust's format `d.ddde-7`.
    fn read(write: impl FnOnce(&mut &mut [u8]) -> std::io::Result<()>) -> Self {
        let mut digits = Digits {
            buffer: [0; MOST_SIGNIFICANT + 16],
            len: 0,
            point: 0,
        };
        let mut rest = &mut digits.buffer[..];
        // The buffer is larger than the longest number, so this cannot fail.
        let _ = write(&mut rest);
        let left = rest.len();
        let written = digits.buffer.len() - left;
        let text = &digits.buffer[..written];
        let e = text.iter().position(|&b| b == b'e').unwrap_or(written);
        let exponent = std::str::from_utf8(text.get(e + 1..).unwrap_or_default());
        digits.point = exponent.ok().and_then(|e| e.parse().ok()).unwrap_or(0) + 1;
        digits.len = e;
        if e > 1 {
            // This closes the gap that the decimal point left.
            digits.buffer.copy_within(2..e, 1);
            digits.len = e - 1;
        }
        digits.trim();
        digits
    }

    fn trim(&mut self) {
        while self.len > 0 && self.buffer[self.len - 1] == b'0' {
            self.len -= 1;
        }
        if self.len == 0 {
            self.point = 0;
        }
    }

    fn as_slice(&self) -> &[u8] {
        &self.buffer[..self.len]
    }
}

/// Appends a number for `%g`: with or without an exponent, by Go's rule.
fn general(out: &mut Vec<u8>, value: f64, form: char, precision: Option<usize>) {
    let digits = match precision {
        Some(precision) => Digits::rounded(value, precision),
        None => Digits::shortest(value),
    };
    let point = digits.point;
    let length = digits.len as i32;
    let threshold = match precision {
        None => 6,
        Some(precision) => {
            let precision = i32::try_from(precision.max(1)).unwrap_or(i32::MAX);
            if precision > length && length >= point {
                length
            } else {
                precision
            }
        }
    };
    let exponent = point - 1;
    if exponent < -4 || exponent >= threshold {
        let letter = if form == 'G' { 'E' } else { 'e' };
        return exponential(out, &digits, digits.len.saturating_sub(1), letter);
    }
    plain(out, &digits);
}

/// Appends all digits without an exponent.
fn plain(out: &mut Vec<u8>, digits: &Digits) {
    let all = digits.as_slice();
    let whole = usize::try_from(digits.point).unwrap_or(0);
    if whole == 0 {
        out.push(b'0');
    }
    out.extend_from_slice(&all[..whole.min(all.len())]);
    out.resize(out.len() + whole.saturating_sub(all.len()), b'0');
    if all.len() > whole {
        out.push(b'.');
        let zeros = usize::try_from(-digits.point).unwrap_or(0);
        out.resize(out.len() + zeros, b'0');
        out.extend_from_slice(&all[whole..]);
    }
}

fn exponential(out: &mut Vec<u8>, digits: &Digits, places: usize, letter: char) {
    let all = digits.as_slice();
    out.push(all.first().copied().unwrap_or(b'0'));
    if places > 0 {
        out.push(b'.');
        let fraction = all.get(1..).unwrap_or_default();
        let shown = fraction.len().min(places);
        out.extend_from_slice(&fraction[..shown]);
        out.resize(out.len() + places - shown, b'0');
    }
    out.push(letter as u8);
    let exponent = if all.is_empty() { 0 } else { digits.point - 1 };
    signed_exponent(out, exponent);
}

/// Appends an exponent: a sign and at least two digits.
fn signed_exponent(out: &mut Vec<u8>, exponent: i32) {
    let sign = if exponent < 0 { '-' } else { '+' };
    let _ = write!(out, "{sign}{:02}", exponent.unsigned_abs());
}

fn fixed(out: &mut Vec<u8>, value: f64, places: usize) {
    let shown = places.min(MOST_FRACTION);
    let _ = write!(out, "{value:.shown$}");
    out.resize(out.len() + places - shown, b'0');
}

/// Splits a finite number into mantissa × 2^exponent.
fn parts(value: f64) -> (u64, i32) {
    let bits = value.to_bits();
    let biased = ((bits >> 52) & 0x7ff) as i32;
    let fraction = bits & ((1 << 52) - 1);
    match biased {
        0 => (fraction, -1074),
        _ => (fraction | 1 << 52, biased - 1075),
    }
}

/// Appends a number for `%b`: `4503599627370496p-52`.
fn binary(out: &mut Vec<u8>, value: f64) {
    let (mantissa, exponent) = parts(value);
    let _ = write!(out, "{mantissa}p{exponent:+}");
}

/// Appends a number for `%x`: `0x1.8p+01`.
fn hexadecimal(out: &mut Vec<u8>, value: f64, form: char, precision: Option<usize>) {
    let (mut mantissa, mut exponent) = parts(value);
    if mantissa == 0 {
        exponent = 0;
    } else {
        // The leading 1 bit is shifted to bit 60. Each group of four bits after the leading 1 bit
        // is a digit.
        let shift = mantissa.leading_zeros() - 3;
        mantissa <<= shift;
        exponent += 60 - shift as i32;
    }
    if let Some(digits) = precision.filter(|&digits| digits < 15) {
        (mantissa, exponent) = round_hexadecimal(mantissa, exponent, digits);
    }
    let _ = write!(out, "0{form}{}", (mantissa >> 60) & 1);
    let digits = match precision {
        Some(digits) => digits,
        None => (64 - (mantissa << 4).trailing_zeros() as usize).div_ceil(4),
    };
    hexadecimal_fraction(out, mantissa << 4, digits, form == 'X');
    out.push(if form == 'X' { b'P' } else { b'p' });
    signed_exponent(out, exponent);
}

/// Rounds half to even after this number of digits.
fn round_hexadecimal(mantissa: u64, exponent: i32, digits: usize) -> (u64, i32) {
    let keep = 60 - 4 * digits as u32;
    let rest = mantissa & ((1 << keep) - 1);
    let mut kept = mantissa >> keep;
    let half = 1_u64 << (keep - 1);
    if rest > half || (rest == half && kept & 1 == 1) {
        kept += 1;
    }
    match kept << keep {
        carried if carried & (1 << 61) != 0 => (carried >> 1, exponent + 1),
        rounded => (rounded, exponent),
    }
}

/// Appends the fraction from the upper bits, padded with zeros.
fn hexadecimal_fraction(out: &mut Vec<u8>, fraction: u64, digits: usize, upper: bool) {
    if digits == 0 {
        return;
    }
    let shown = digits.min(15);
    let value = fraction >> (64 - 4 * shown);
    let _ = if upper {
        write!(out, ".{value:0shown$X}")
    } else {
        write!(out, ".{value:0shown$x}")
    };
    out.resize(out.len() + digits - shown, b'0');
}

/// Applies the `#` flag: always a point, and the zeros that `%g` omits. Like Go, this counts the
/// `x` of a hexadecimal number as a digit.
fn keep_zeros(sink: &mut LimitedBuffer<'_>, start: usize, form: char, precision: Option<usize>) {
    let text = sink.since(start);
    let is_tail = |b: &u8| match b {
        b'p' | b'P' => true,
        b'e' | b'E' => !matches!(form, 'x' | 'X'),
        _ => false,
    };
    let tail = text.iter().position(is_tail).unwrap_or(text.len());
    let number = &text[..tail];
    let has_point = number.contains(&b'.');
    let wanted = match form {
        'g' | 'G' | 'x' => precision.unwrap_or(6),
        _ => 0,
    };
    let significant = number.iter().skip_while(|b| matches!(b, b'0' | b'.'));
    let mut there = significant.filter(|&&b| b != b'.').count();
    if !has_point && number == b"0" {
        there += 1;
    }
    sink.insert(start + tail, b'0', wanted.saturating_sub(there));
    if !has_point {
        sink.insert(start + tail, b'.', 1);
    }
}
