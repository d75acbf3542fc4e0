//! The builtins `html`, `js` and `urlquery`.

use std::io::Write;

use super::super::ast::BuiltinFunction;
use super::super::fmt::printable::is_printable;

pub(super) fn run(builtin: BuiltinFunction, text: Vec<u8>) -> Vec<u8> {
    match builtin {
        BuiltinFunction::Html => html(text),
        BuiltinFunction::Js => js(text),
        _ => url_query(&text),
    }
}

fn html(text: Vec<u8>) -> Vec<u8> {
    if !text.iter().any(|byte| html_escape(*byte).is_some()) {
        return text;
    }
    let mut out = Vec::with_capacity(text.len() + text.len() / 4);
    for byte in text {
        match html_escape(byte) {
            Some(escape) => out.extend_from_slice(escape.as_bytes()),
            None => out.push(byte),
        }
    }
    out
}

fn html_escape(byte: u8) -> Option<&'static str> {
    Some(match byte {
        0 => "\u{fffd}",
        b'"' => "&#34;",
        b'\'' => "&#39;",
        b'&' => "&amp;",
        b'<' => "&lt;",
        b'>' => "&gt;",
        _ => return None,
    })
}

fn js(text: Vec<u8>) -> Vec<u8> {
    let special = |byte: &u8| matches!(byte, b'\\' | b'\'' | b'"' | b'<' | b'>' | b'&' | b'=');
    if !text
        .iter()
        .any(|b| special(b) || *b < b' ' || !b.is_ascii())
    {
        return text;
    }
    let mut out = Vec::with_capacity(text.len() * 2);
    for chunk in text.utf8_chunks() {
        for c in chunk.valid().chars() {
            js_char(&mut out, c);
        }
        out.extend_from_slice(chunk.invalid());
    }
    out
}

fn js_char(out: &mut Vec<u8>, c: char) {
    match c {
        '\\' | '\'' | '"' => out.extend_from_slice(&[b'\\', c as u8]),
        '<' | '>' | '&' | '=' | '\0'..='\x1f' => push_unicode(out, c),
        c if c.is_ascii() || is_printable(c) => {
            out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
        }
        c => push_unicode(out, c),
    }
}

fn push_unicode(out: &mut Vec<u8>, c: char) {
    // Writing to a vector cannot fail.
    let _ = write!(out, "\\u{:04X}", u32::from(c));
}

fn url_query(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + text.len() / 2);
    for byte in text {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => out.push(*byte),
            b' ' => out.push(b'+'),
            _ => {
                let _ = write!(out, "%{byte:02X}");
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped_for_its_place() {
        let cases = [
            (
                BuiltinFunction::Html,
                "<a b='\0'>",
                "&lt;a b=&#39;\u{fffd}&#39;&gt;",
            ),
            (
                BuiltinFunction::Js,
                "'\"\\<\n世\u{2028}",
                r#"\'\"\\\u003C\u000A世\u2028"#,
            ),
            (BuiltinFunction::Urlquery, "a b+é~", "a+b%2B%C3%A9~"),
        ];
        for (builtin, text, expected) in cases {
            let escaped = run(builtin, text.as_bytes().to_vec());
            assert_eq!(String::from_utf8(escaped).unwrap(), expected);
        }
    }
}
