//! Text from a database on one line of a prompt, within bounds.

/// Most characters of a comment of a table or column in a prompt.
pub(super) const COMMENT: usize = 300;

/// An untrusted text on one line: line ends and control characters become spaces, what is too long
/// is cut.
pub(super) fn sanitize_line(text: &str) -> String {
    let mut out = String::new();
    let mut blank = false;
    let mut length = 0;
    for c in text.trim().chars() {
        // Runs collapse to one space, so that no comment can fake the indentation of a column line.
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

/// Characters that have no place on a line: ends of lines, control characters, and what hides.
pub(crate) fn is_unseen(c: char) -> bool {
    c.is_control() || is_invisible(c)
}

/// Characters that hide or turn text: zero width, direction marks, tags.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}
