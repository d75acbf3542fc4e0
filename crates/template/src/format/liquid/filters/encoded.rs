//! Filters for HTML, URLs and base64.

use quillet_core::Value as Data;

use super::super::eval::{Evaluator, fail};
use super::super::value::Value;
use crate::StopReason;

/// Escapes HTML characters. With `once`, existing references are not escaped again.
pub(super) fn html(
    e: &mut Evaluator<'_, '_>,
    input: &Value,
    once: bool,
) -> Result<Value, StopReason> {
    if input.is_nil() && !once {
        return Ok(Value::NIL);
    }
    let text = e.text(input)?;
    let special = text.bytes().filter(|b| b"&<>\"'".contains(b)).count();
    e.charge(text.len() + special * 5)?;
    let mut out = String::with_capacity(text.len() + special * 5);
    for (at, c) in text.char_indices() {
        match c {
            '&' if once && is_reference(&text[at + 1..]) => out.push('&'),
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    Ok(out.into())
}

/// Whether `name;` or `#number;` follows. Only as many characters as the longest name are searched.
fn is_reference(text: &str) -> bool {
    let (digits, rest) = match text.strip_prefix('#') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let is_part = |b: &u8| {
        if digits {
            b.is_ascii_digit()
        } else {
            b.is_ascii_alphabetic()
        }
    };
    let length = rest.bytes().take(64).take_while(is_part).count();
    length > 0 && rest.as_bytes().get(length) == Some(&b';')
}

/// Removes tags, comments, scripts and styles from a text.
pub(super) fn without_tags(text: &str) -> String {
    let blocks = [
        ("<script", "</script>"),
        ("<!--", "-->"),
        ("<style", "</style>"),
    ];
    // An end tag that is missing here is also missing for all later openings.
    let mut ends = [true; 3];
    let mut without_blocks = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        without_blocks.push_str(&rest[..at]);
        rest = &rest[at..];
        let mut skipped = 0;
        for ((open, close), ends) in blocks.iter().zip(&mut ends) {
            if *ends && rest.starts_with(open) {
                match rest[open.len()..].find(close) {
                    Some(end) => skipped = open.len() + end + close.len(),
                    None => *ends = false,
                }
            }
        }
        if skipped == 0 {
            without_blocks.push('<');
            skipped = 1;
        }
        rest = &rest[skipped..];
    }
    without_blocks.push_str(rest);
    let mut out = String::with_capacity(without_blocks.len());
    let mut rest = without_blocks.as_str();
    while let Some(at) = rest.find('<') {
        let Some(end) = rest[at..].find('>') else {
            break;
        };
        out.push_str(&rest[..at]);
        rest = &rest[at + end + 1..];
    }
    out + rest
}

pub(super) fn url(
    e: &mut Evaluator<'_, '_>,
    input: &Value,
    _: &[Value],
) -> Result<Value, StopReason> {
    if input.is_nil() {
        return Ok(Value::NIL);
    }
    let text = e.text(input)?;
    e.charge(text.len() * 3)?;
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b' ' => out.push('+'),
            b if b.is_ascii_alphanumeric() || b"_.-~".contains(&b) => out.push(char::from(b)),
            b => out.push_str(&format!("%{b:02X}")),
        }
    }
    Ok(out.into())
}

pub(super) fn of_url(
    e: &mut Evaluator<'_, '_>,
    input: &Value,
    _: &[Value],
) -> Result<Value, StopReason> {
    if input.is_nil() {
        return Ok(Value::NIL);
    }
    let text = e.text(input)?;
    e.charge(text.len())?;
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let digit = |at: usize| char::from(*bytes.get(at)?).to_digit(16);
        let pair = digit(at + 1).zip(digit(at + 2));
        let decoded = match (byte, pair) {
            (b'%', Some((high, low))) => u8::try_from(high * 16 + low).ok(),
            (b'+', _) => Some(b' '),
            _ => None,
        };
        at += if *byte == b'%' && decoded.is_some() {
            3
        } else {
            1
        };
        out.push(decoded.unwrap_or(*byte));
    }
    match String::from_utf8(out) {
        Ok(text) => Ok(text.into()),
        Err(_) => Err(fail("the decoded value is not UTF-8")),
    }
}

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

pub(super) fn base64(
    e: &mut Evaluator<'_, '_>,
    input: &Value,
    safe: bool,
) -> Result<Value, StopReason> {
    let text = e.text(input)?;
    e.charge(text.len().saturating_mul(2))?;
    let mut out = String::with_capacity(text.len().div_ceil(3) * 4);
    for chunk in text.as_bytes().chunks(3) {
        let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for digit in 0..4 {
            if digit > chunk.len() {
                out.push('=');
                continue;
            }
            let value = (bits >> (18 - 6 * digit)) & 63;
            let digit = DIGITS.get(value as usize).copied().unwrap_or(b'A');
            out.push(match (safe, digit) {
                (true, b'+') => '-',
                (true, b'/') => '_',
                (_, digit) => char::from(digit),
            });
        }
    }
    Ok(out.into())
}

pub(super) fn of_base64(
    e: &mut Evaluator<'_, '_>,
    input: &Value,
    safe: bool,
) -> Result<Value, StopReason> {
    let text = e.text(input)?;
    e.charge(text.len())?;
    let decoded = decoded(&text, safe).and_then(|bytes| String::from_utf8(bytes).ok());
    match decoded {
        Some(text) => Ok(Value::Data(Data::from(text))),
        None => Err(fail("this value is not valid base64")),
    }
}

/// Decodes base64. Padding must be correct, if there is any.
fn decoded(text: &str, safe: bool) -> Option<Vec<u8>> {
    let digits = text.trim_end_matches('=');
    let padding = text.len() - digits.len();
    let whole = if safe && padding == 0 {
        // URL-safe base64 omits the padding.
        digits.len() % 4 != 1
    } else {
        text.len().is_multiple_of(4) && padding < 3
    };
    if !whole || digits.len() % 4 == 1 {
        return None;
    }
    let mut out = Vec::with_capacity(digits.len());
    for chunk in digits.as_bytes().chunks(4) {
        let mut bits: u32 = 0;
        for digit in chunk {
            let digit = match (safe, digit) {
                (true, b'-') => b'+',
                (true, b'_') => b'/',
                (_, digit) => *digit,
            };
            let value = DIGITS.iter().position(|known| *known == digit)?;
            bits = bits << 6 | u32::try_from(value).ok()?;
        }
        let missing = 4 - chunk.len();
        bits <<= 6 * missing;
        let bytes = [(bits >> 16) as u8, (bits >> 8) as u8, bits as u8];
        out.extend_from_slice(&bytes[..3 - missing]);
        if bytes[3 - missing..].iter().any(|byte| *byte != 0) {
            return None;
        }
    }
    Some(out)
}
