//! Formatting of integers.

use super::printable::is_printable;
use super::quote::quote_char;
use super::sink::LimitedBuffer;
use super::spec::Spec;

/// Digits in lower and upper case. The last character is the letter of the prefix `0x`.
const LOWER: &[u8; 17] = b"0123456789abcdefx";
const UPPER: &[u8; 17] = b"0123456789ABCDEFX";

/// An integer with a separate sign.
#[derive(Clone, Copy)]
pub(super) struct Integer {
    pub(super) negative: bool,
    pub(super) magnitude: u64,
}

impl From<i64> for Integer {
    fn from(value: i64) -> Self {
        Integer {
            negative: value < 0,
            magnitude: value.unsigned_abs(),
        }
    }
}

impl From<u64> for Integer {
    fn from(magnitude: u64) -> Self {
        Integer {
            negative: false,
            magnitude,
        }
    }
}

impl Integer {
    /// Returns the character with this code. As in Go, an invalid code becomes U+FFFD.
    fn to_char(self) -> char {
        let code = u32::try_from(self.magnitude).ok();
        let code = code.filter(|_| !self.negative);
        code.and_then(char::from_u32).unwrap_or('\u{fffd}')
    }
}

/// Writes an integer with a verb. Returns `false` if the verb does not apply to integers.
pub(super) fn integer(
    sink: &mut LimitedBuffer<'_>,
    value: Integer,
    verb: char,
    spec: &Spec,
) -> bool {
    match verb {
        'v' | 'd' => in_base(sink, value, 10, verb, spec),
        'b' => in_base(sink, value, 2, verb, spec),
        'o' | 'O' => in_base(sink, value, 8, verb, spec),
        'x' | 'X' => in_base(sink, value, 16, verb, spec),
        'c' => character(sink, value.to_char(), spec),
        'q' => quoted(sink, value.to_char(), spec),
        'U' => code_point(sink, value, spec),
        _ => return false,
    }
    true
}

/// Writes the decimal digits of an integer without flags.
pub(super) fn decimal(sink: &mut LimitedBuffer<'_>, value: Integer) {
    let mut buffer = [0; 64];
    if value.negative {
        sink.byte(b'-');
    }
    sink.write(digits(&mut buffer, value.magnitude, 10, LOWER));
}

fn in_base(sink: &mut LimitedBuffer<'_>, value: Integer, base: u64, verb: char, spec: &Spec) {
    let spaces = spec.without_zero();
    let start = sink.position();
    if spec.precision == Some(0) && value.magnitude == 0 {
        return sink.pad(start, &spaces);
    }
    let table = if verb == 'X' { UPPER } else { LOWER };
    let mut buffer = [0; 64];
    let digits = digits(&mut buffer, value.magnitude, base, table);
    let zeros = least_digits(value, spec).saturating_sub(digits.len());
    if let Some(sign) = spec.sign(value.negative) {
        sink.byte(sign);
    }
    if verb == 'O' {
        sink.write(b"0o");
    }
    let leading_zero = zeros > 0 || digits.first() == Some(&b'0');
    match base {
        2 if spec.sharp => sink.write(b"0b"),
        8 if spec.sharp && !leading_zero => sink.byte(b'0'),
        16 if spec.sharp => sink.write(&[b'0', table[16]]),
        _ => {}
    }
    sink.fill(b'0', zeros);
    sink.write(digits);
    sink.pad(start, &spaces);
}

/// Returns the minimum number of digits. Zero padding is part of the digits, so the sign precedes
/// the zeros.
fn least_digits(value: Integer, spec: &Spec) -> usize {
    match (spec.precision, spec.width) {
        (Some(precision), _) => precision,
        (None, Some(width)) if spec.zero && !spec.minus => {
            width - usize::from(width > 0 && spec.sign(value.negative).is_some())
        }
        _ => 0,
    }
}

fn digits<'b>(buffer: &'b mut [u8; 64], mut value: u64, base: u64, table: &[u8; 17]) -> &'b [u8] {
    let mut at = buffer.len();
    loop {
        at -= 1;
        buffer[at] = table[(value % base) as usize];
        value /= base;
        if value == 0 {
            return &buffer[at..];
        }
    }
}

fn character(sink: &mut LimitedBuffer<'_>, c: char, spec: &Spec) {
    let start = sink.position();
    sink.char(c);
    sink.pad(start, spec);
}

fn quoted(sink: &mut LimitedBuffer<'_>, c: char, spec: &Spec) {
    let start = sink.position();
    sink.append(12, |out| quote_char(out, c, spec.plus));
    sink.pad(start, spec);
}

/// Writes `U+0078`, followed by the character if the flag `#` is set.
fn code_point(sink: &mut LimitedBuffer<'_>, value: Integer, spec: &Spec) {
    let start = sink.position();
    let code = if value.negative {
        value.magnitude.wrapping_neg()
    } else {
        value.magnitude
    };
    let mut buffer = [0; 64];
    let digits = digits(&mut buffer, code, 16, UPPER);
    let least = spec.precision.unwrap_or(0).max(4);
    sink.write(b"U+");
    sink.fill(b'0', least.saturating_sub(digits.len()));
    sink.write(digits);
    let shown = u32::try_from(code).ok().and_then(char::from_u32);
    if let Some(c) = shown.filter(|&c| spec.sharp && is_printable(c)) {
        sink.write(b" '");
        sink.char(c);
        sink.byte(b'\'');
    }
    sink.pad(start, &spec.without_zero());
}
