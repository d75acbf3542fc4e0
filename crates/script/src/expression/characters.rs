//! Character classes and number prefixes of ECMAScript.

/// Returns whether a character is white space or a line terminator in ECMAScript.
pub(super) fn is_space(c: char) -> bool {
    (c.is_whitespace() && c != '\u{85}') || c == '\u{feff}'
}

pub(super) fn starts_name(c: char) -> bool {
    c.is_alphabetic() || c == '_' || c == '$'
}

pub(super) fn continues_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '$' | '\u{200c}' | '\u{200d}')
}

/// Returns the digits after `0x`, `0o` or `0b`, and the base.
pub(super) fn radix_prefix(text: &str) -> Option<(&str, u32)> {
    let rest = text.strip_prefix('0')?;
    let radix = match rest.as_bytes().first()? {
        b'x' | b'X' => 16,
        b'o' | b'O' => 8,
        b'b' | b'B' => 2,
        _ => return None,
    };
    Some((rest.get(1..)?, radix))
}
