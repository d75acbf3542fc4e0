//! Python's `repr` of texts and floats.

use std::fmt::Write;
use std::sync::LazyLock;

use regex::Regex;

/// Matches the characters for which `str.isprintable` is false.
static UNPRINTABLE: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"^[\p{C}\p{Z}&&[^ ]]").ok());

fn push(out: &mut String, value: impl std::fmt::Display) {
    // Writing to a string cannot fail.
    let _ = write!(out, "{value}");
}

/// Returns Python's `repr` of a float: the fewest digits that parse to the same number.
pub(crate) fn float_text(float: f64) -> String {
    if float.is_nan() {
        return "nan".to_owned();
    }
    if float.is_infinite() {
        return if float > 0.0 { "inf" } else { "-inf" }.to_owned();
    }
    let scientific = format!("{float:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..16).contains(&exponent) {
        let plain = format!("{float}");
        return if plain.contains('.') {
            plain
        } else {
            plain + ".0"
        };
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.abs())
}

/// Returns an upper bound on the escaped length of a text, which is charged before the text is
/// built.
pub(crate) fn escaped_size(text: &str) -> usize {
    let size = |byte| match byte {
        b'"' | b'\\' | b'\'' => 2,
        0x20..=0x7e => 1,
        0x80.. => 4,
        _ => 6,
    };
    2 + text.bytes().map(size).sum::<usize>()
}

/// Appends Python's `repr` of a text.
pub(crate) fn quote(text: &str, out: &mut String) {
    let mark = if text.contains('\'') && !text.contains('"') {
        '"'
    } else {
        '\''
    };
    out.push(mark);
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c == mark => out.extend(['\\', c]),
            c if is_printable(c) => out.push(c),
            c => escape(c, out),
        }
    }
    out.push(mark);
}

/// Returns Python's `ascii(value)` for a `repr`.
pub(crate) fn ascii(repr: &str) -> String {
    let mut out = String::with_capacity(repr.len());
    for c in repr.chars() {
        if c.is_ascii() {
            out.push(c)
        } else {
            escape(c, &mut out)
        }
    }
    out
}

fn escape(c: char, out: &mut String) {
    match c as u32 {
        code @ ..=0xff => push(out, format_args!("\\x{code:02x}")),
        code @ ..=0xffff => push(out, format_args!("\\u{code:04x}")),
        code => push(out, format_args!("\\U{code:08x}")),
    }
}

/// Whether Python's `str.isprintable` accepts a character. Common letters need no Unicode tables.
fn is_printable(c: char) -> bool {
    match c {
        ' '..='~' | '\u{c0}'..='\u{17f}' | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}' => {
            true
        }
        _ if c.is_ascii() => false,
        _ => {
            let is_unprintable = |regex: &Regex| regex.is_match(c.encode_utf8(&mut [0; 4]));
            !UNPRINTABLE.as_ref().is_some_and(is_unprintable)
        }
    }
}
