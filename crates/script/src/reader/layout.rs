//! Small changes to a part before YAML reads it: what people write and YAML does not take.

use quillet_core::Span;
use quillet_yaml::MappedText;

use super::lines::{block_head, rows};

/// A line of a part.
pub(crate) struct LayoutLine<'a> {
    /// Its bytes in the file, with its line break.
    pub(crate) span: Span,
    /// Blanks before the text.
    pub(crate) indent: usize,
    /// The text after the blanks, without blanks at its end.
    pub(crate) text: &'a str,
    /// Whether it is inside of a text of several lines (`|`, `>`).
    pub(crate) inside: bool,
    /// Whether it holds no key: inside of a text, a comment, or blank.
    verbatim: bool,
}

impl LayoutLine<'_> {
    /// The column where the text after list dashes begins.
    pub(crate) fn column(&self) -> usize {
        self.indent + self.text.len() - after_dashes(self.text).len()
    }
}

/// What stands after the dashes of list items.
pub(crate) fn after_dashes(mut text: &str) -> &str {
    while let Some(rest) = text.strip_prefix("- ") {
        text = rest.trim_start();
    }
    text
}

/// A part as it was written, but for colons in full width after roles and directives, and a block
/// text's head (`|-`) on a line of its own.
pub(super) fn written<'a>(file: &'a str, part: Span, roles: &[String]) -> MappedText<'a> {
    let text = file.get(part.start..part.end).unwrap_or_default();
    let plain = !text.contains('：') && !text.contains("\n|") && !text.contains("\n>");
    // A part without these marks needs no edit and is taken from the file as it is.
    if plain {
        return MappedText::of(file, part);
    }
    edited(file, part, roles, &[])
}

/// The part with the keys that stand indented below `$for: 3` moved beside it, which YAML needs and
/// authors do not write; `None` if there is no such layout in it.
pub(super) fn beside<'a>(file: &'a str, part: Span, roles: &[String]) -> Option<MappedText<'a>> {
    let rows = classified(file, part);
    let mut shifts = vec![0; rows.len()];
    let mut open: Vec<(usize, usize)> = Vec::new();
    for (at, row) in rows.iter().enumerate() {
        if row.text.is_empty() {
            continue;
        }
        // A comment or a line inside a block text may stand further out without ending the layout.
        while open.last().is_some_and(|(indent, _)| row.indent < *indent) && !row.verbatim {
            open.pop();
        }
        if let Some(shift) = shifts.get_mut(at) {
            // Never more than the blanks there are: the shift must not remove text.
            *shift = open.iter().map(|(_, by)| by).sum::<usize>().min(row.indent);
        }
        if let Some(deeper) = deeper(&rows, at) {
            open.push((deeper, deeper - row.column()));
        }
    }
    let any = shifts.iter().any(|shift| *shift > 0);
    any.then(|| edited(file, part, roles, &shifts))
}

/// The column of keys that stand below `$name: value` and deeper than it.
fn deeper(rows: &[LayoutLine<'_>], at: usize) -> Option<usize> {
    let row = rows.get(at).filter(|row| !row.verbatim)?;
    let text = after_dashes(row.text);
    let (key, value) = text.split_once(": ")?;
    let value = value.trim_start();
    let tool = value == "$tool";
    let scalar = !value.starts_with(['|', '>', '!', '&', '#']);
    if !(key.starts_with('$') && scalar || tool) {
        return None;
    }
    let significant = |row: &&LayoutLine<'_>| !row.text.is_empty() && !row.text.starts_with('#');
    let next = rows.get(at + 1..)?.iter().find(significant)?;
    let key =
        !next.text.starts_with("- ") && (next.text.contains(": ") || next.text.ends_with(':'));
    (key && next.indent > row.column()).then_some(next.indent)
}

/// The rows of a part, with those that belong to block texts marked.
pub(crate) fn classified(file: &str, part: Span) -> Vec<LayoutLine<'_>> {
    let mut block: Option<usize> = None;
    let mut made: Vec<LayoutLine<'_>> = Vec::new();
    for (span, line) in rows(file, part) {
        let text = line.trim_start_matches(' ');
        let indent = line.len() - text.len();
        let inside = !text.is_empty() && block.is_some_and(|column| indent > column);
        if inside {
            // Blank lines between the lines of a text belong to it.
            let blanks = made.iter_mut().rev().take_while(|row| row.text.is_empty());
            blanks.for_each(|row| row.inside = true);
        }
        let row = LayoutLine {
            span,
            indent,
            text,
            inside,
            verbatim: inside || text.is_empty() || text.starts_with('#'),
        };
        if !inside && !text.is_empty() {
            let head = !row.verbatim && opens_block(text);
            block = head.then(|| parent(&row));
        }
        made.push(row);
    }
    made
}

/// Whether a line ends with the head of a block text: `key: |-`, `- !fn |- # comment`, `>`.
fn opens_block(text: &str) -> bool {
    let mut before = "-";
    for token in text.split_whitespace() {
        if token.starts_with('#') {
            return false;
        }
        let fits = before == "-" || before.ends_with([':', '：']) || before.starts_with(['!', '&']);
        if fits && block_head(token) {
            return true;
        }
        before = token;
    }
    text.rsplit_once('：')
        .is_some_and(|(_, head)| block_head(head))
}

/// The column that a block text must be deeper than: of its key, or of its dash.
fn parent(row: &LayoutLine<'_>) -> usize {
    let text = after_dashes(row.text);
    let bare = text.starts_with(['|', '>', '!']);
    if bare && row.text.starts_with('-') {
        row.column() - 2
    } else {
        row.column()
    }
}

fn edited<'a>(file: &'a str, part: Span, roles: &[String], shifts: &[usize]) -> MappedText<'a> {
    let mut piece = MappedText::empty();
    let mut from = part.start;
    for (at, row) in classified(file, part).iter().enumerate() {
        let start = row.span.start;
        let shift = shifts.get(at).copied().unwrap_or(0);
        if shift > 0 {
            piece.keep(
                file,
                Span {
                    start: from,
                    end: start,
                },
            );
            from = start + shift;
        }
        if at > 0 && row.indent == 0 && row.text.split(' ').next().is_some_and(block_head) {
            piece.keep(
                file,
                Span {
                    start: from,
                    end: start,
                },
            );
            // One blank is enough for YAML to read the head as part of the line above.
            piece.put(" ", start);
            from = start;
        }
        let first = at == 0 || row.text.starts_with("- ");
        if let Some(colon) = wide_colon(row, roles).filter(|_| first && !row.verbatim) {
            piece.keep(
                file,
                Span {
                    start: from,
                    end: colon,
                },
            );
            piece.put(": ", colon);
            from = colon + '：'.len_utf8();
        }
    }
    piece.keep(
        file,
        Span {
            start: from,
            end: part.end,
        },
    );
    piece
}

/// The byte of a full-width colon that stands after a role or a directive.
/// Other names keep theirs: `注意：…` is a text.
pub(crate) fn wide_colon(row: &LayoutLine<'_>, roles: &[String]) -> Option<usize> {
    let text = after_dashes(row.text);
    let (before, _) = text.split_once('：')?;
    let name = before.trim_end();
    let name = match name.find(['[', '［', '【']) {
        Some(open) if name.ends_with([']', '］', '】']) => name.get(..open)?,
        _ => name,
    };
    let directive = name.starts_with('$') && !name.contains(char::is_whitespace);
    let known = directive || roles.iter().any(|role| role == name);
    known.then(|| row.span.start + row.column() + before.len())
}
