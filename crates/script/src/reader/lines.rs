//! Splits a file by line into the front matter and the parts that are parsed one by one.

use quillet_core::Span;

/// The parts of a file.
pub(crate) struct FileParts {
    /// The byte range between the lines that delimit the front matter, if it exists.
    pub(crate) front: Option<Span>,
    /// The body.
    pub(crate) parts: Vec<LineGroup>,
}

/// A group of lines that form a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LineGroup {
    /// Its span, including the last line break.
    pub(crate) span: Span,
    /// Its kind.
    pub(crate) kind: PartKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PartKind {
    /// `---`, `***`. `pin` if it ends with `!`.
    Separator { pin: bool },
    /// An instruction with its indented lines, or a list item.
    Instruction,
    /// Comments and blank lines without an instruction above them.
    Blank,
}

/// Splits a file. Every byte of the body belongs to exactly one part.
pub(crate) fn split(text: &str) -> FileParts {
    // A byte order mark consists of three bytes in UTF-8. Spans still count from the first byte of
    // the file.
    let begin = if text.starts_with('\u{feff}') { 3 } else { 0 };
    let (front, body) = match front_matter(text, begin) {
        Some((front, body)) => (Some(front), body),
        None => (None, begin),
    };
    let parts = parts(text, body);
    FileParts { front, parts }
}

/// Returns the lines in a span: the span of each, including its line break, and its text without
/// trailing white space.
pub(crate) fn rows(text: &str, span: Span) -> impl Iterator<Item = (Span, &str)> {
    let mut at = span.start;
    let lines = text.get(span.start..span.end).unwrap_or_default();
    lines.split_inclusive('\n').map(move |line| {
        let start = at;
        at += line.len();
        (Span { start, end: at }, line.trim_end())
    })
}

/// Returns the front matter and the offset after its last line. It starts with `---`, before which
/// only blank lines and comments are allowed, and ends at the next line that starts with `---`.
fn front_matter(text: &str, begin: usize) -> Option<(Span, usize)> {
    let end = text.len();
    let mut rows = rows(text, Span { start: begin, end });
    let (open, first) = rows.find(|(_, row)| !row.is_empty() && !row.starts_with('#'))?;
    if first != "---" {
        return None;
    }
    // A comment may follow the closing dashes, so only the start of the line is compared.
    let (close, _) = rows.find(|(_, row)| row.starts_with("---"))?;
    let front = Span {
        start: open.end,
        end: close.start,
    };
    Some((front, close.end))
}

/// Common front matter keys that are not roles.
const CONFIGURED: [&str; 9] = [
    "input:",
    "output:",
    "parameters:",
    "import:",
    "export:",
    "extends:",
    "type:",
    "tools:",
    "prompt:",
];

/// Returns the first line of a text if it opens a front matter that is not closed: a line of three
/// dashes, followed by keys that no script uses as roles.
pub(super) fn open_front_matter(text: &str) -> Option<Span> {
    let whole = Span {
        start: 0,
        end: text.len(),
    };
    let mut rows = rows(text, whole).filter(|(_, row)| !row.is_empty() && !row.starts_with('#'));
    let (first, dashes) = rows.next()?;
    // A script may start with a separator, so a line of dashes is not enough to detect front
    // matter.
    let configures = |row: &str| CONFIGURED.iter().any(|key| row.starts_with(key));
    (dashes == "---" && rows.any(|(_, row)| configures(row))).then_some(first)
}

/// Splits the body into parts. A line without indentation starts a part, and indented lines belong
/// to the part above.
pub(super) fn parts(text: &str, body: usize) -> Vec<LineGroup> {
    let mut parts: Vec<LineGroup> = Vec::new();
    let whole = Span {
        start: body,
        end: text.len(),
    };
    let mut last = "";
    for (span, row) in rows(text, whole) {
        // An indented line of dashes belongs to a text.
        let at_edge = !row.starts_with([' ', '\t']);
        let kind = match separator(row).filter(|_| at_edge) {
            Some(pin) => PartKind::Separator { pin },
            None if row.is_empty() || row.starts_with('#') => PartKind::Blank,
            None => PartKind::Instruction,
        };
        let goes_on = match kind {
            PartKind::Separator { .. } => false,
            // Blank lines and comments belong to the part above, so that every byte is in a part.
            PartKind::Blank => true,
            PartKind::Instruction => continues(row, last),
        };
        match parts.last_mut().filter(|_| goes_on) {
            Some(part) if takes(part.kind, kind) => part.span.end = span.end,
            _ => parts.push(LineGroup { span, kind }),
        }
        if kind != PartKind::Blank {
            last = row;
        }
    }
    parts
}

/// Returns whether a line can belong to a part of this kind.
fn takes(part: PartKind, line: PartKind) -> bool {
    match part {
        PartKind::Separator { .. } => false,
        PartKind::Instruction => true,
        PartKind::Blank => line == PartKind::Blank,
    }
}

/// Returns whether a line continues the previous ones: it is indented, a closing bracket, or the
/// header of a block scalar on its own line.
fn continues(row: &str, last: &str) -> bool {
    if row.starts_with([' ', '\t', '}', ']', ')']) {
        return true;
    }
    block_head(row) && (last.ends_with(':') || last.starts_with('!'))
}

/// Returns whether a token is a block scalar header: `|`, `|-`, `>2`.
pub(crate) fn block_head(token: &str) -> bool {
    let mut chars = token.chars();
    let head = chars.next().is_some_and(|first| "|>".contains(first));
    head && token.len() <= 3 && chars.all(|char| "-+".contains(char) || char.is_ascii_digit())
}

/// Returns whether a line or a string item is a separator; `true` if it also pins the messages
/// before it. Valid forms are `---`, `***`, longer, quoted, as a list item, with `!`, and with a
/// comment after it.
pub(crate) fn separator(row: &str) -> Option<bool> {
    let row = row.strip_prefix("- ").unwrap_or(row).trim_start();
    let quote = row.chars().next().filter(|first| "\"'".contains(*first));
    let row = row.strip_prefix(['"', '\'']).unwrap_or(row);
    let mark = row.chars().next().filter(|first| "-*".contains(*first))?;
    let rest = row.trim_start_matches(mark);
    if row.len() - rest.len() < 3 {
        return None;
    }
    let (pin, rest) = match rest.strip_prefix('!') {
        Some(rest) => (true, rest),
        None => (false, rest),
    };
    let rest = match quote {
        Some(quote) => rest.strip_prefix(quote)?,
        None => rest,
    };
    let comment = rest.trim_start();
    let apart = comment.len() < rest.len() && comment.starts_with('#');
    (comment.is_empty() || apart).then_some(pin)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separators_are_rows_of_dashes_or_stars() {
        let table = [
            ("---", Some(false)),
            ("***", Some(false)),
            ("------", Some(false)),
            ("---!", Some(true)),
            ("***! # pinned", Some(true)),
            ("--- # New dialogue", Some(false)),
            ("\"---\"", Some(false)),
            ("'***'", Some(false)),
            ("- ---", Some(false)),
            ("- \"---!\" # c", Some(true)),
            ("--", None),
            ("---#", None),
            ("--- a", None),
            ("---*", None),
            ("\"---", None),
            ("\"---'", None),
            ("", None),
        ];
        for (row, expected) in table {
            assert_eq!(separator(row), expected, "{row}");
        }
    }

    #[test]
    fn front_matter_stands_between_dashes() {
        let table = [
            ("---\na: 1\n---\nb", Some("a: 1\n"), "b"),
            ("\u{feff}---\r\na: 1\r\n---\r\nb", Some("a: 1\r\n"), "b"),
            ("# c\n\n---\n---\nb", Some(""), "b"),
            ("---\na: 1\n--- # c\nb", Some("a: 1\n"), "b"),
            ("---\na: 1\n", None, "---\na: 1\n"),
            ("--- # c\na\n---\n", None, "--- # c\na\n---\n"),
            ("a\n---\nb\n---\n", None, "a\n---\nb\n---\n"),
            ("", None, ""),
        ];
        for (text, front, body) in table {
            let split = split(text);
            let cut = |span: Span| &text[span.start..span.end];
            assert_eq!(split.front.map(cut), front, "{text:?}");
            let parts: String = split.parts.iter().map(|part| cut(part.span)).collect();
            assert_eq!(parts, body, "{text:?}");
        }
    }

    #[test]
    fn parts_begin_at_the_left_edge() {
        let table: &[(&str, &[&str])] = &[
            (
                "a: 1\n  b\n\n# c\n  d\ne",
                &["a: 1\n  b\n\n# c\n  d\n", "e"],
            ),
            ("# c\n\na: 1\n", &["# c\n\n", "a: 1\n"]),
            ("a: {\n  b: 1\n}\nc", &["a: {\n  b: 1\n}\n", "c"]),
            ("user:\n|-\n  x\nb", &["user:\n|-\n  x\n", "b"]),
            ("$a\n|\n$b", &["$a\n", "|\n", "$b"]),
            ("a\n--- # c\n# d\nb", &["a\n", "--- # c\n", "# d\n", "b"]),
            (
                "a: |\n  b\n  ---\n  c\nd",
                &["a: |\n  b\n  ---\n  c\n", "d"],
            ),
            ("  a\n", &["  a\n"]),
        ];
        for (text, expected) in table {
            let found: Vec<&str> = parts(text, 0)
                .iter()
                .map(|part| &text[part.span.start..part.span.end])
                .collect();
            assert_eq!(found, *expected, "{text:?}");
        }
    }
}
