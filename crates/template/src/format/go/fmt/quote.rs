//! Go's quoted strings and characters (`strconv.Quote` and related functions).

use super::printable::is_printable;

/// Appends `text` as a Go string literal in double quotes. Invalid UTF-8 becomes `\x..`. With
/// `ascii`, characters outside ASCII are escaped too.
pub(crate) fn quote(out: &mut Vec<u8>, text: &[u8], ascii: bool) {
    out.push(b'"');
    escape_text(out, text, ascii);
    out.push(b'"');
}

/// Appends the text between the quotes.
pub(super) fn escape_text(out: &mut Vec<u8>, text: &[u8], ascii: bool) {
    for chunk in text.utf8_chunks() {
        for c in chunk.valid().chars() {
            escape(out, c, '"', ascii);
        }
        for byte in chunk.invalid() {
            hex_escape(out, "\\x", u32::from(*byte), 2);
        }
    }
}

/// Appends a Go character literal in single quotes.
pub(crate) fn quote_char(out: &mut Vec<u8>, c: char, ascii: bool) {
    out.push(b'\'');
    escape(out, c, '\'', ascii);
    out.push(b'\'');
}

/// Whether the text is valid between Go's backquotes, unchanged and on one line.
pub(super) fn can_backquote(text: &[u8]) -> bool {
    let plain = |c: char| match c {
        '\t' => true,
        '`' | '\u{7f}' | '\u{feff}' => false,
        _ => c >= ' ',
    };
    std::str::from_utf8(text).is_ok_and(|text| text.chars().all(plain))
}

fn escape(out: &mut Vec<u8>, c: char, quote: char, ascii: bool) {
    if c == quote || c == '\\' {
        out.push(b'\\');
        out.push(c as u8);
        return;
    }
    if is_printable(c) && (c.is_ascii() || !ascii) {
        out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
        return;
    }
    let letter = match c {
        '\u{7}' => b'a',
        '\u{8}' => b'b',
        '\u{c}' => b'f',
        '\n' => b'n',
        '\r' => b'r',
        '\t' => b't',
        '\u{b}' => b'v',
        _ => return escape_code(out, u32::from(c)),
    };
    out.extend_from_slice(&[b'\\', letter]);
}

fn escape_code(out: &mut Vec<u8>, code: u32) {
    match code {
        0..0x20 | 0x7f => hex_escape(out, "\\x", code, 2),
        0..0x10000 => hex_escape(out, "\\u", code, 4),
        _ => hex_escape(out, "\\U", code, 8),
    }
}

fn hex_escape(out: &mut Vec<u8>, prefix: &str, code: u32, digits: u32) {
    out.extend_from_slice(prefix.as_bytes());
    for place in (0..digits).rev() {
        let digit = (code >> (4 * place)) & 0xf;
        out.push(b"0123456789abcdef"[digit as usize]);
    }
}
