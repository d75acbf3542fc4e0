//! Makes a model's text safe for a terminal.
//!
//! A terminal executes escape sequences, which can move the cursor, change the title or write to
//! the clipboard. A model's text must not do that, so control characters are replaced by visible
//! ones.

use std::borrow::Cow;

/// Returns the text without control characters, except new lines and tabs.
///
/// Control characters are replaced by their pictures (ESC: `␛`). Those above 127 and the ones that
/// change the text direction become `\u{fffd}`. Carriage returns are removed, because they would
/// let a text overwrite its own line.
pub(crate) fn sanitize(text: &str) -> Cow<'_, str> {
    // Most text is harmless and is not copied.
    if text.chars().all(|c| visible_char(c) == Some(c)) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().filter_map(visible_char).collect())
}

/// Like [`sanitize`], but on one line and with at most `most` characters.
pub(crate) fn one_line(text: &str, most: usize) -> String {
    let mut line = String::new();
    let mut count = 0;
    let mut is_space = false;
    for c in text.chars().filter_map(visible_char) {
        let c = if c.is_whitespace() { ' ' } else { c };
        if c == ' ' && is_space {
            continue;
        }
        is_space = c == ' ';
        if count == most {
            line.push('…');
            break;
        }
        line.push(c);
        count += 1;
    }
    line
}

pub(super) fn visible_char(c: char) -> Option<char> {
    match c {
        '\n' | '\t' => Some(c),
        '\r' => None,
        '\0'..='\u{1f}' => char::from_u32(0x2400 + u32::from(c)),
        '\u{7f}' => Some('\u{2421}'),
        // C1 controls: 0x9b starts a sequence like `ESC [`.
        '\u{80}'..='\u{9f}' => Some('\u{fffd}'),
        // These characters change the direction of text, so a command could look like another one.
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => Some('\u{fffd}'),
        _ => Some(c),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_left_that_a_terminal_obeys() {
        let cases = [
            ("plain\n\ttext, 中文 🎉", "plain\n\ttext, 中文 🎉"),
            ("\u{1b}[2J\u{1b}]0;title\u{7}", "␛[2J␛]0;title␇"),
            ("a\rb\r\nc", "ab\nc"),
            ("\u{9b}31m\u{7f}\u{8}", "\u{fffd}31m␡␈"),
            ("a\u{202e}b\u{2066}", "a\u{fffd}b\u{fffd}"),
        ];
        for (text, expected) in cases {
            assert_eq!(sanitize(text), expected, "{text:?}");
        }
        for byte in 0..=0x9f_u8 {
            let text = char::from(byte).to_string();
            let safe = sanitize(&text).into_owned();
            let obeyed = |c: char| c.is_control() && c != '\n' && c != '\t';
            assert!(!safe.contains(obeyed), "{byte:#x} becomes {safe:?}");
        }
    }

    #[test]
    fn a_line_is_one_line_and_has_an_end() {
        assert_eq!(one_line("a\n b\t\tc\u{1b}", 99), "a b c␛");
        assert_eq!(one_line("äöüß", 3), "äöü…");
        assert_eq!(one_line("äöü", 3), "äöü");
    }
}
