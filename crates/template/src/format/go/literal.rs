//! Literals: quoted strings, characters, and numbers in all types that can represent them.

use quillet_core::Value;

use super::fmt::quoted as quote;
use super::value::GoStr;

/// A number literal. As in Go, an untyped constant has several values, and the context selects one.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct NumberLiteral {
    pub(super) int: Option<i64>,
    pub(super) uint: Option<u64>,
    pub(super) float: Option<f64>,
    pub(super) complex: Option<(f64, f64)>,
}

/// Value of a number for which the context requires no type.
#[derive(Clone, Debug)]
pub(super) enum UntypedKind {
    /// An `int` or a `float64`.
    Real(Value),
    Complex(f64, f64),
    /// An integer that only `uint64` can represent.
    Overflow,
}

impl NumberLiteral {
    /// Parses a number that is neither a character nor a complex sum.
    pub(super) fn parse(text: &str) -> Result<NumberLiteral, String> {
        if let Some(imaginary) = text.strip_suffix('i').and_then(parse_float) {
            return Ok(NumberLiteral::of_complex(0.0, imaginary));
        }
        let uint = parse_uint(text);
        let int = parse_int(text);
        let mut number = NumberLiteral {
            int,
            uint: if int == Some(0) {
                uint.or(Some(0))
            } else {
                uint
            },
            ..NumberLiteral::default()
        };
        if let Some(int) = number.int {
            number.float = Some(int as f64);
        } else if let Some(uint) = number.uint {
            number.float = Some(uint as f64);
        } else if let Some(float) = parse_float(text) {
            if !text.contains(['.', 'e', 'E', 'p', 'P']) {
                return Err(format!("integer overflow: {}", quote(text)));
            }
            number = NumberLiteral::of_float(float);
        }
        if number.float.is_none() {
            return Err(format!("illegal number syntax: {}", quote(text)));
        }
        Ok(number)
    }

    /// Parses a character constant with its quotes.
    pub(super) fn parse_char(text: &str) -> Result<NumberLiteral, String> {
        let inside = text.as_bytes().get(1..).unwrap_or_default();
        let (code, _, rest) = unquote_char(inside, b'\'').ok_or("invalid syntax")?;
        if rest != b"'" {
            return Err(format!("malformed character constant: {text}"));
        }
        Ok(NumberLiteral {
            int: Some(code.into()),
            uint: Some(code.into()),
            float: Some(code.into()),
            complex: None,
        })
    }

    /// Parses `1+2i`.
    pub(super) fn parse_complex(text: &str) -> Result<NumberLiteral, String> {
        let bytes = text.as_bytes();
        let sign = |i: &usize| {
            let exponent = matches!(bytes[i - 1], b'e' | b'E' | b'p' | b'P');
            matches!(bytes[*i], b'+' | b'-') && !exponent
        };
        let middle = (1..bytes.len()).find(sign);
        let pair = middle.and_then(|middle| {
            let imaginary = text[middle..].strip_suffix('i')?;
            Some((parse_float(&text[..middle])?, parse_float(imaginary)?))
        });
        let (real, imaginary) = pair.ok_or("syntax error scanning complex number")?;
        Ok(NumberLiteral::of_complex(real, imaginary))
    }

    fn of_complex(real: f64, imaginary: f64) -> NumberLiteral {
        let real_only = if imaginary == 0.0 {
            NumberLiteral::of_float(real)
        } else {
            NumberLiteral::default()
        };
        NumberLiteral {
            complex: Some((real, imaginary)),
            ..real_only
        }
    }

    fn of_float(float: f64) -> NumberLiteral {
        NumberLiteral {
            int: Some(float as i64).filter(|int| *int as f64 == float),
            uint: Some(float as u64).filter(|uint| *uint as f64 == float),
            float: Some(float),
            complex: None,
        }
    }

    /// Returns the value if no type is required. The notation decides its type.
    pub(super) fn ideal(&self, text: &str) -> UntypedKind {
        if let Some((real, imaginary)) = self.complex {
            return UntypedKind::Complex(real, imaginary);
        }
        let hex = (text.starts_with("0x") || text.starts_with("0X")) && !text.contains(['p', 'P']);
        let written_as_float =
            !hex && !text.starts_with('\'') && text.contains(['.', 'e', 'E', 'p', 'P']);
        match (self.int, self.float) {
            (_, Some(float)) if written_as_float => UntypedKind::Real(Value::Float(float)),
            (Some(int), _) => UntypedKind::Real(Value::Int(int)),
            _ => UntypedKind::Overflow,
        }
    }
}

/// Parses an unsigned integer like Go's `ParseUint` with base 0, including prefixes and
/// underscores.
pub(super) fn parse_uint(text: &str) -> Option<u64> {
    if !underscores_are_well_placed(text) {
        return None;
    }
    let (digits, radix) = match text.as_bytes() {
        [b'0', b'x' | b'X', ..] => (&text[2..], 16),
        [b'0', b'o' | b'O', ..] => (&text[2..], 8),
        [b'0', b'b' | b'B', ..] => (&text[2..], 2),
        [b'0', _, ..] => (&text[1..], 8),
        _ => (text, 10),
    };
    // Rust's parser would accept a sign.
    if digits.starts_with(['+', '-']) {
        return None;
    }
    if digits.contains('_') {
        return u64::from_str_radix(&digits.replace('_', ""), radix).ok();
    }
    u64::from_str_radix(digits, radix).ok()
}

/// Parses an integer like Go's `ParseInt` with base 0.
pub(super) fn parse_int(text: &str) -> Option<i64> {
    let (negative, digits) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let size = parse_uint(digits)?;
    if negative {
        return 0_i64.checked_sub_unsigned(size);
    }
    i64::try_from(size).ok()
}

/// Parses a float like Go's `ParseFloat`, without names such as `inf`.
pub(super) fn parse_float(text: &str) -> Option<f64> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if !unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return None;
    }
    let hex = unsigned.starts_with("0x") || unsigned.starts_with("0X");
    let cleaned = if text.contains('_') {
        if !underscores_are_well_placed(text) {
            return None;
        }
        text.replace('_', "")
    } else {
        text.to_owned()
    };
    let value = if hex {
        parse_hex_float(&cleaned)?
    } else {
        cleaned.parse().ok()?
    };
    // In Go an out-of-range number is an error.
    f64::is_finite(value).then_some(value)
}

/// Parses a hexadecimal mantissa and the binary exponent. Go requires the exponent.
fn parse_hex_float(text: &str) -> Option<f64> {
    let (negative, unsigned) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (mantissa, exponent) = unsigned[2..].split_once(['p', 'P'])?;
    let mut exponent: i64 = exponent.parse().ok()?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let mut bits: u64 = 0;
    let mut sticky = false;
    for digit in whole.chars().chain(fraction.chars()) {
        let digit = u64::from(digit.to_digit(16)?);
        if bits >> 59 == 0 {
            bits = bits << 4 | digit;
        } else {
            sticky |= digit != 0;
            exponent = exponent.saturating_add(4);
        }
    }
    exponent = exponent.saturating_sub(4 * i64::try_from(fraction.len()).ok()?);
    // The sticky bit below all others makes the only rounding step correct.
    let value = scale(
        (bits << 1 | u64::from(sticky)) as f64,
        exponent.saturating_sub(1),
    );
    Some(if negative { -value } else { value })
}

fn scale(mut value: f64, exponent: i64) -> f64 {
    let mut left = exponent.clamp(-2200, 2200);
    while left > 0 {
        let step = left.min(1000);
        value *= 2_f64.powi(step as i32);
        left -= step;
    }
    while left < 0 {
        let step = left.max(-1000);
        value *= 2_f64.powi(step as i32);
        left -= step;
    }
    value
}

/// Whether each underscore is between two digits, or between a prefix and a digit.
fn underscores_are_well_placed(text: &str) -> bool {
    if !text.contains('_') {
        return true;
    }
    let text = text.strip_prefix(['+', '-']).unwrap_or(text);
    let bytes = text.as_bytes();
    let prefixed = matches!(bytes, [b'0', b'b' | b'B' | b'o' | b'O' | b'x' | b'X', ..]);
    let hex = matches!(bytes, [b'0', b'x' | b'X', ..]);
    let mut saw = if prefixed { b'0' } else { b'^' };
    for byte in bytes.iter().skip(if prefixed { 2 } else { 0 }) {
        saw = match byte {
            b'0'..=b'9' => b'0',
            byte if hex && byte.is_ascii_hexdigit() => b'0',
            b'_' if saw == b'0' => b'_',
            b'_' => return false,
            _ if saw == b'_' => return false,
            _ => b'!',
        };
    }
    saw != b'_'
}

/// Decodes a quoted string like Go's `strconv.Unquote`, in the two forms that the lexer accepts.
pub(super) fn unquote(quoted: &str) -> Option<GoStr> {
    let inside = quoted.get(1..quoted.len().checked_sub(1)?)?;
    if quoted.starts_with('`') {
        if inside.contains('\r') {
            return Some(inside.replace('\r', "").into());
        }
        return Some(inside.into());
    }
    if !inside.contains('\\') {
        return Some(inside.into());
    }
    let mut rest = inside.as_bytes();
    let mut bytes = Vec::with_capacity(rest.len());
    while !rest.is_empty() {
        let (code, is_char, after) = unquote_char(rest, b'"')?;
        match char::from_u32(code) {
            Some(c) if is_char => bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
            _ => bytes.push(u8::try_from(code).ok()?),
        }
        rest = after;
    }
    Some(bytes.into())
}

/// Reads one character or escape. Returns its code, whether it is a character and not a byte
/// (`\x80`), and the remaining text.
fn unquote_char(text: &[u8], quote: u8) -> Option<(u32, bool, &[u8])> {
    let (&first, rest) = text.split_first()?;
    if first == quote || first == b'\n' {
        return None;
    }
    if first != b'\\' {
        let c = decode_char(text)?;
        return Some((c.into(), true, &text[c.len_utf8()..]));
    }
    let (&escape, rest) = rest.split_first()?;
    let simple = |code: u32| Some((code, true, rest));
    match escape {
        b'a' => simple(7),
        b'b' => simple(8),
        b'f' => simple(12),
        b'n' => simple(10),
        b'r' => simple(13),
        b't' => simple(9),
        b'v' => simple(11),
        b'\\' => simple(92),
        b'\'' | b'"' if escape == quote => simple(escape.into()),
        b'x' => digits(rest, 2, 16).map(|(code, rest)| (code, false, rest)),
        b'u' => digits(rest, 4, 16).and_then(valid_char),
        b'U' => digits(rest, 8, 16).and_then(valid_char),
        b'0'..=b'7' => {
            let (code, rest) = digits(&text[1..], 3, 8)?;
            (code <= 255).then_some((code, false, rest))
        }
        _ => None,
    }
}

fn decode_char(text: &[u8]) -> Option<char> {
    let length = text
        .utf8_chunks()
        .next()?
        .valid()
        .chars()
        .next()?
        .len_utf8();
    std::str::from_utf8(&text[..length]).ok()?.chars().next()
}

fn digits(text: &[u8], count: usize, radix: u32) -> Option<(u32, &[u8])> {
    let (digits, rest) = text.split_at_checked(count)?;
    let mut code = 0_u32;
    for digit in digits {
        code = code.checked_mul(radix)? + char::from(*digit).to_digit(radix)?;
    }
    Some((code, rest))
}

fn valid_char((code, rest): (u32, &[u8])) -> Option<(u32, bool, &[u8])> {
    char::from_u32(code).map(|c| (c.into(), true, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_kept_under_every_type_that_holds_them() {
        let cases = [
            ("12", Some(12), Some(12.0)),
            ("-0", Some(0), Some(0.0)),
            ("0x1F", Some(31), Some(31.0)),
            ("0b101", Some(5), Some(5.0)),
            ("017", Some(15), Some(15.0)),
            ("1_000", Some(1000), Some(1000.0)),
            ("1e3", Some(1000), Some(1000.0)),
            ("1.5", None, Some(1.5)),
            ("0x1p-2", None, Some(0.25)),
            ("0x1.8p1", Some(3), Some(3.0)),
            (
                "18446744073709551615",
                None,
                Some(18_446_744_073_709_551_615.0),
            ),
        ];
        for (text, int, float) in cases {
            let number = NumberLiteral::parse(text).unwrap();
            assert_eq!((number.int, number.float), (int, float), "{text}");
        }
    }

    #[test]
    fn bad_numbers_have_gos_words() {
        let cases = [
            (
                "99999999999999999999",
                "integer overflow: \"99999999999999999999\"",
            ),
            ("-", "illegal number syntax: \"-\""),
            ("1__0", "illegal number syntax: \"1__0\""),
            ("0x", "illegal number syntax: \"0x\""),
        ];
        for (text, message) in cases {
            assert_eq!(NumberLiteral::parse(text).unwrap_err(), message);
        }
    }

    #[test]
    fn the_way_a_number_is_written_decides_its_type() {
        let is_float = |text: &str| {
            let ideal = NumberLiteral::parse(text).unwrap().ideal(text);
            matches!(ideal, UntypedKind::Real(Value::Float(_)))
        };
        assert!(is_float("1.0") && is_float("1e3") && is_float("0x1p4"));
        assert!(!is_float("1") && !is_float("0x1e"));
    }

    #[test]
    fn strings_are_unquoted() {
        let cases: [(&str, Option<&[u8]>); 7] = [
            (r#""a\n\x41\u00e9""#, Some("a\nAé".as_bytes())),
            (r#""\xff\101""#, Some(b"\xffA")),
            ("`a\\n\r`", Some(b"a\\n")),
            (r#""\'""#, None),
            (r#""\q""#, None),
            (r#""\400""#, None),
            (r#""\ud800""#, None),
        ];
        for (quoted, expected) in cases {
            let bytes = unquote(quoted);
            assert_eq!(bytes.as_ref().map(GoStr::as_bytes), expected, "{quoted}");
        }
        assert_eq!(NumberLiteral::parse_char(r"'\n'").unwrap().int, Some(10));
    }
}
