//! The line rules: a file to its front matter and the parts that are read one by one.

use quillet_core::Span;

/// What a file consists of.
pub(crate) struct FileParts {
    /// The bytes between the lines of the front matter, if there is any.
    pub(crate) front: Option<Span>,
    /// The body.
    pub(crate) parts: Vec<LineGroup>,
}

/// Lines that belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LineGroup {
    /// Its lines, the last line break included.
    pub(crate) span: Span,
    /// What they are.
    pub(crate) kind: PartKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PartKind {
    /// `---`, `***`; `pin` with `!`.
    Separator { pin: bool },
    /// An instruction with its indented lines, or an item of a list.
    Instruction,
    /// Comments and blank lines that no instruction comes before.
    Blank,
}

/// Splits a file. Every byte of the body is in exactly one part.
pub(crate) fn split(text: &str) -> FileParts {
    // A byte order mark has three bytes in UTF-8. Spans still count from the first byte.
    let begin = if text.starts_with('\u{feff}') { 3 } else { 0 };
    let (front, body) = match front_matter(text, begin) {
        Some((front, body)) => (Some(front), body),
        None => (None, begin),
    };
    let parts = parts(text, body);
    FileParts { front, parts }
}

/// Lines of a text from a byte on: where each begins and ends with its line
/// break, and its text without blanks at its end.
pub(crate) fn rows(text: &str, span: Span) -> impl Iterator<Item = (Span, &str)> {
    let mut at = span.start;
    let lines = text.get(span.start..span.end).unwrap_or_default();
    lines.split_inclusive('\n').map(move |line| {
        let start = at;
        at += line.len();
        (Span { start, end: at }, line.trim_end())
    })
}

/// The front matter and the first byte after its last line. It begins with
/// `---` after nothing but blank lines and comments, and ends with the next
/// line that begins so.
fn front_matter(text: &str, begin: usize) -> Option<(Span, usize)> {
    let end = text.len();
    let mut rows = rows(text, Span { start: begin, end });
    let (open, first) = rows.find(|(_, row)| !row.is_empty() && !row.starts_with('#'))?;
    if first != "---" {
        return None;
    }
    // A comment may follow the closing dashes, so only the beginning of the line counts.
    let (close, _) = rows.find(|(_, row)| row.starts_with("---"))?;
    let front = Span {
        start: open.end,
        end: close.start,
    };
    Some((front, close.end))
}

/// Keys that begin front matters and are no roles.
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

/// The first row of a text, if it opens a front matter that nothing closes: a row of three dashes,
/// and keys below it that no script sends as messages.
pub(super) fn open_front_matter(text: &str) -> Option<Span> {
    let whole = Span {
        start: 0,
        end: text.len(),
    };
    let mut rows = rows(text, whole).filter(|(_, row)| !row.is_empty() && !row.starts_with('#'));
    let (first, dashes) = rows.next()?;
    // A script may begin with a separator, so the dashes alone prove nothing.
    let configures = |row: &str| CONFIGURED.iter().any(|key| row.starts_with(key));
    (dashes == "---" && rows.any(|(_, row)| configures(row))).then_some(first)
}

/// The parts of a body. A line at the left edge begins a part,
/// whatever is indented belongs to the part before it.
pub(super) fn parts(text: &str, body: usize) -> Vec<LineGroup> {
    let mut parts: Vec<LineGroup> = Vec::new();
    let whole = Span {
        start: body,
        end: text.len(),
    };
    let mut last = "";
    for (span, row) in rows(text, whole) {
        // An indented row of dashes belongs to the text that it is in.
        let at_edge = !row.starts_with([' ', '\t']);
        let kind = match separator(row).filter(|_| at_edge) {
            Some(pin) => PartKind::Separator { pin },
            None if row.is_empty() || row.starts_with('#') => PartKind::Blank,
            None => PartKind::Instruction,
        };
        let goes_on = match kind {
            PartKind::Separator { .. } => false,
            // Blank lines and comments stay with what is above them: every byte is in one part.
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

/// Whether a line can belong to a part of this kind.
fn takes(part: PartKind, line: PartKind) -> bool {
    match part {
        PartKind::Separator { .. } => false,
        PartKind::Instruction => true,
        PartKind::Blank => line == PartKind::Blank,
    }
}

/// Whether a line continues with what comes before it: indented, a bracket that closes, or the head
/// of a block text on a line of its own.
fn continues(row: &str, last: &str) -> bool {
    if row.starts_with([' ', '\t', '}', ']', ')']) {
        return true;
    }
    block_head(row) && (last.ends_with(':') || last.starts_with('!'))
}

/// `|`, `|-`, `>2`: what comes before a text of several lines.
pub(crate) fn block_head(token: &str) -> bool {
    let mut chars = token.chars();
    let head = chars.next().is_some_and(|first| "|>".contains(first));
    head && token.len() <= 3 && chars.all(|char| "-+".contains(char) || char.is_ascii_digit())
}

/// Whether a line, or a string item, begins a new dialogue; `true` if it also
/// pins what comes before it. `---`, `***`, longer, quoted, as a list item,
/// with `!` and with a comment after it.
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
