//! Adjusts the text of a part before YAML parses it, for common notations that YAML does not
//! accept.

use quillet_core::Span;
use quillet_yaml::MappedText;

use super::lines::{block_head, rows};

/// A line of a part.
pub(crate) struct LayoutLine<'a> {
    /// Its span in the file, including the line break.
    pub(crate) span: Span,
    /// Number of spaces before the text.
    pub(crate) indent: usize,
    /// The text without surrounding white space.
    pub(crate) text: &'a str,
    /// Whether it belongs to a block scalar (`|`, `>`).
    pub(crate) inside: bool,
    /// Whether it has no key: a line of a block scalar, a comment, or a blank line.
    verbatim: bool,
}

impl LayoutLine<'_> {
    /// Returns the column of the text after list dashes.
    pub(crate) fn column(&self) -> usize {
        self.indent + self.text.len() - after_dashes(self.text).len()
    }
}

/// Returns the text after the dashes of list items.
pub(crate) fn after_dashes(mut text: &str) -> &str {
    while let Some(rest) = text.strip_prefix("- ") {
        text = rest.trim_start();
    }
    text
}

/// Returns a part with two adjustments: full-width colons after roles and directives become ASCII,
/// and the header of a block scalar (`|-`) on its own line is joined with the line above.
pub(super) fn written<'a>(file: &'a str, part: Span, roles: &[String]) -> MappedText<'a> {
    let text = file.get(part.start..part.end).unwrap_or_default();
    let plain = !text.contains('：') && !text.contains("\n|") && !text.contains("\n>");
    // A part without these notations is used unchanged.
    if plain {
        return MappedText::of(file, part);
    }
    edited(file, part, roles, &[])
}

/// Returns a part in which the keys indented below `$for: 3` are moved to its column, because YAML
/// requires that and authors usually indent them. `None` if there are no such keys.
pub(super) fn beside<'a>(file: &'a str, part: Span, roles: &[String]) -> Option<MappedText<'a>> {
    let rows = classified(file, part);
    let mut shifts = vec![0; rows.len()];
    let mut open: Vec<(usize, usize)> = Vec::new();
    for (at, row) in rows.iter().enumerate() {
        if row.text.is_empty() {
            continue;
        }
        // A comment or a line of a block scalar may have less indentation without ending the
        // layout.
        while open.last().is_some_and(|(indent, _)| row.indent < *indent) && !row.verbatim {
            open.pop();
        }
        if let Some(shift) = shifts.get_mut(at) {
            // Limited to the existing spaces, because the shift must not remove text.
            *shift = open.iter().map(|(_, by)| by).sum::<usize>().min(row.indent);
        }
        if let Some(deeper) = deeper(&rows, at) {
            open.push((deeper, deeper - row.column()));
        }
    }
    let any = shifts.iter().any(|shift| *shift > 0);
    any.then(|| edited(file, part, roles, &shifts))
}

/// Returns the column of keys that are below `$name: value` and indented more.
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

/// Returns the lines of a part, with those of block scalars marked.
pub(crate) fn classified(file: &str, part: Span) -> Vec<LayoutLine<'_>> {
    let mut block: Option<usize> = None;
    let mut made: Vec<LayoutLine<'_>> = Vec::new();
    for (span, line) in rows(file, part) {
        let text = line.trim_start_matches(' ');
        let indent = line.len() - text.len();
        let inside = !text.is_empty() && block.is_some_and(|column| indent > column);
        if inside {
            // Blank lines within a block scalar belong to it.
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

/// Returns whether a line ends with a block scalar header: `key: |-`, `- !fn |- # comment`, `>`.
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

/// Returns the column that a block scalar must exceed: that of its key or its dash.
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
            // One space is enough to make YAML read the header as part of the line above.
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

/// Returns the offset of a full-width colon after a role or a directive. Colons after other words
/// are not changed: `注意：…` is a text.
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
