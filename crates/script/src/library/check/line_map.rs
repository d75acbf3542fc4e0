//! Maps positions in the text of a scalar to the file. Computed only for reported problems.

use std::ops::Range;

use quillet_core::Span;
use quillet_yaml::Node;

use crate::syntax::{ScriptSource, ScriptText};

/// A part of a text in the script.
#[derive(Clone, Debug)]
pub(crate) struct FileSpot {
    text: ScriptText,
    range: Range<usize>,
}

impl FileSpot {
    pub(crate) fn new(text: &ScriptText, range: Range<usize>) -> Self {
        let text = text.clone();
        FileSpot { text, range }
    }

    pub(crate) fn all(text: &ScriptText) -> Self {
        FileSpot::new(text, 0..text.value.len())
    }

    pub(crate) fn of(text: &ScriptText, span: Span) -> Self {
        FileSpot::new(text, span.start..span.end)
    }

    /// Returns its span in the file, or that of the whole scalar if YAML changed the text (escapes,
    /// folding).
    pub(crate) fn span(&self, source: &ScriptSource) -> Span {
        let whole = self.text.span;
        let written = source.text.get(whole.start..whole.end).unwrap_or_default();
        let start = start(written, &self.text.value, self.range.start);
        let Some(start) = start else {
            return whole;
        };
        let start = whole.start + start;
        let end = (start + self.range.len()).min(whole.end);
        Span { start, end }
    }
}

/// Returns the position of a byte of a text in its source.
fn start(written: &str, text: &str, byte: usize) -> Option<usize> {
    if written == text {
        return Some(byte);
    }
    if written.get(1..written.len().saturating_sub(1)) == Some(text) {
        return Some(byte + 1);
    }
    in_block(written, text, byte)
}

/// Maps a position in a block scalar, where each line has the same indentation, usually after a
/// header.
fn in_block(written: &str, text: &str, byte: usize) -> Option<usize> {
    let before = text.get(..byte)?;
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let line = text.get(line_start..)?.lines().next()?;
    let number = before.matches('\n').count();
    let mut at = 0;
    let lines = written.split_inclusive('\n').map(|line| {
        at += line.len();
        (at - line.len(), line)
    });
    let mut near = lines.skip(number).take(2);
    near.find_map(|(start, written)| {
        let indent = written.trim_end().strip_suffix(line.trim_end())?.len();
        Some(start + indent + byte - line_start)
    })
}

/// Positions of the lines of a text in the file, for locating many parts of one text.
#[derive(Debug)]
pub(crate) struct LineMap {
    /// The start of each line in the text and in the file, and its length. Lines that YAML changed
    /// are omitted.
    lines: Vec<(usize, usize, usize)>,
}

impl LineMap {
    pub(crate) fn new(text: &ScriptText, source: &ScriptSource) -> Self {
        let whole = text.span;
        let written = source.text.get(whole.start..whole.end).unwrap_or_default();
        let quoted = written.get(1..written.len().saturating_sub(1));
        let value = &*text.value;
        if written == value {
            let lines = vec![(0, whole.start, value.len())];
            return LineMap { lines };
        }
        if quoted == Some(value) {
            let lines = vec![(0, whole.start + 1, value.len())];
            return LineMap { lines };
        }
        let mut at = whole.start;
        let rows: Vec<(usize, &str)> = written
            .split_inclusive('\n')
            .map(|row| {
                at += row.len();
                (at - row.len(), row)
            })
            .collect();
        let mut start = 0;
        let mut lines = Vec::new();
        for (number, line) in value.split_inclusive('\n').enumerate() {
            let said = line.trim_end();
            let near = rows.get(number..).unwrap_or_default().iter().take(2);
            let found = near.filter_map(|(at, row)| {
                let indent = row.trim_end().strip_suffix(said)?;
                indent.trim().is_empty().then(|| at + indent.len())
            });
            lines.extend(found.take(1).map(|at| (start, at, said.len())));
            start += line.len();
        }
        LineMap { lines }
    }

    /// Calls `tell` with the spans in the file for a part of the text, line by line.
    pub(crate) fn spans(&self, part: Span, mut tell: impl FnMut(Span)) {
        let first = self
            .lines
            .partition_point(|(start, _, length)| start + length <= part.start);
        for (start, at, length) in self.lines.get(first..).unwrap_or_default() {
            if *start >= part.end {
                return;
            }
            let from = part.start.max(*start) - start;
            let to = part.end.min(start + length) - start;
            if from < to {
                tell(Span {
                    start: at + from,
                    end: at + to,
                });
            }
        }
    }
}

/// Returns the text of a node with its location.
pub(crate) fn text_of(node: &Node) -> Option<ScriptText> {
    let value = node.as_str()?.into();
    let span = node.span;
    Some(ScriptText { span, value })
}

#[cfg(test)]
mod tests {
    use super::start;

    #[test]
    fn bytes_of_a_text_are_found_in_what_was_written() {
        let table = [
            ("plain text", "plain text", 6, Some(6)),
            ("\"quoted text\"", "quoted text", 7, Some(8)),
            (
                "|-\n    one {{x}}\n    two {{y}}",
                "one {{x}}\ntwo {{y}}",
                14,
                Some(25),
            ),
            ("    one\n    two", "one\ntwo", 5, Some(13)),
            ("\"a\\tb\"", "a\tb", 2, None),
        ];
        for (written, text, byte, expected) in table {
            let found = start(written, text, byte);
            assert_eq!(found, expected, "{written}");
            if let Some(found) = found {
                assert_eq!(written[found..].chars().next(), text[byte..].chars().next());
            }
        }
    }
}
