//! Sanitizes text from a database to one line of limited length for prompts.

/// Maximum characters of a table or column comment in a prompt.
pub(super) const COMMENT: usize = 300;

/// Returns untrusted text on one line: line ends and control characters become spaces, and long
/// text is truncated.
pub(super) fn sanitize_line(text: &str) -> String {
    let mut out = String::new();
    let mut blank = false;
    let mut length = 0;
    for c in text.trim().chars() {
        // Runs of such characters collapse to one space, so that a comment cannot fake the
        // indentation of a column line.
        if c.is_whitespace() || c.is_control() || is_invisible(c) {
            blank = true;
            continue;
        }
        if std::mem::take(&mut blank) {
            out.push(' ');
        }
        if length == COMMENT {
            out.push('…');
            break;
        }
        out.push(c);
        length += 1;
    }
    out
}

/// Returns whether a character is unsuitable for a single line: a line end, a control character or
/// an invisible character.
pub(crate) fn is_unseen(c: char) -> bool {
    c.is_control() || is_invisible(c)
}

/// Returns whether a character is invisible or changes the text direction: zero-width characters,
/// direction marks, tags.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}
