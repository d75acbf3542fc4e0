//! Numeric literals and string escapes.

use super::characters::radix_prefix;
use super::error::{ParseRefusal, ParseResult};
use super::number::whole_number;

/// Parses a numeric literal. On an error, returns whether the engine may accept it (`1n`, `1_000`,
/// `010`).
pub(super) fn literal_number(text: &str) -> Result<f64, bool> {
    if let Some((digits, radix)) = radix_prefix(text) {
        return whole_number(digits, radix).ok_or(text.contains(['n', '_']));
    }
    let octal = text.len() > 1
        && text.starts_with('0')
        && text[1..].starts_with(|c: char| c.is_ascii_digit());
    if octal || text.contains('_') || text.ends_with('n') {
        return Err(true);
    }
    match super::number::parse_number(text) {
        number if number.is_nan() => Err(false),
        number => Ok(number),
    }
}

/// Parses the characters after a backslash.
pub(super) fn escape(chars: &mut std::str::CharIndices<'_>, text: &mut String) -> ParseResult<()> {
    // The text ends with a backslash. The caller reports the unclosed string.
    let Some((_, c)) = chars.next() else {
        return Ok(());
    };
    let next = chars.as_str();
    text.push(match c {
        'n' => '\n',
        't' => '\t',
        'r' => '\r',
        'b' => '\u{8}',
        'f' => '\u{c}',
        'v' => '\u{b}',
        '0' if !next.starts_with(|c: char| c.is_ascii_digit()) => '\0',
        '0'..='9' => return Err(ParseRefusal::JavaScript),
        'x' => hex(chars, 2)?,
        'u' => unicode(chars)?,
        // A backslash before a line break continues the line.
        '\r' if next.starts_with('\n') => {
            chars.next();
            return Ok(());
        }
        '\n' | '\r' | '\u{2028}' | '\u{2029}' => return Ok(()),
        c => c,
    });
    Ok(())
}

fn hex(chars: &mut std::str::CharIndices<'_>, count: usize) -> ParseResult<char> {
    char::from_u32(units(chars, count)?).ok_or(ParseRefusal::JavaScript)
}

fn units(chars: &mut std::str::CharIndices<'_>, count: usize) -> ParseResult<u32> {
    let mut number = 0;
    for _ in 0..count {
        let digit = chars.next().and_then(|(_, c)| c.to_digit(16));
        number = number * 16 + digit.ok_or(ParseRefusal::JavaScript)?;
    }
    Ok(number)
}

/// Parses the code after `\u`: four digits, two of these as a surrogate pair, or digits in braces.
/// An unpaired surrogate is left to the engine, because a Rust string cannot contain it.
fn unicode(chars: &mut std::str::CharIndices<'_>) -> ParseResult<char> {
    if let Some(braced) = chars.as_str().strip_prefix('{') {
        let digits = braced.split('}').next().unwrap_or("");
        let code = u32::from_str_radix(digits, 16).map_err(|_| ParseRefusal::JavaScript)?;
        // `nth(n)` consumes n + 1 characters: the ASCII digits and both braces.
        chars.nth(digits.len() + 1);
        return char::from_u32(code).ok_or(ParseRefusal::JavaScript);
    }
    let high = units(chars, 4)?;
    if !(0xd800..0xdc00).contains(&high) {
        return char::from_u32(high).ok_or(ParseRefusal::JavaScript);
    }
    if !chars.as_str().starts_with("\\u") {
        return Err(ParseRefusal::JavaScript);
    }
    chars.nth(1);
    let low = units(chars, 4)?;
    if !(0xdc00..0xe000).contains(&low) {
        return Err(ParseRefusal::JavaScript);
    }
    char::from_u32(0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00))
        .ok_or(ParseRefusal::JavaScript)
}
