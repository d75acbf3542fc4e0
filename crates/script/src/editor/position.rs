//! Positions in the form that editors use: lines from 0, and columns in UTF-16 units or bytes.
//!
//! The Language Server Protocol uses UTF-16 unless both sides negotiate bytes. Lines end with
//! `\n`, `\r\n` or `\r`.

/// Unit in which columns are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encoding {
    /// UTF-16 code units. An emoji has two.
    #[default]
    Utf16,
    /// Bytes.
    Utf8,
}

/// A position in a document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct EditorPosition {
    /// The line, from 0.
    pub line: u32,
    /// The column, from 0, in units of the encoding.
    pub character: u32,
}

/// Line index of a document, which converts between byte offsets and positions.
///
/// ```
/// use quillet_script::editor::position::{EditorPosition, Encoding, LineIndex};
///
/// let text = "a\n😀b";
/// let index = LineIndex::new(text, Encoding::Utf16);
/// let position = index.position(text, 6);
/// assert_eq!(position, EditorPosition { line: 1, character: 2 });
/// assert_eq!(index.byte(text, position), 6);
/// ```
#[derive(Clone, Debug)]
pub struct LineIndex {
    starts: Vec<usize>,
    encoding: Encoding,
}

impl LineIndex {
    /// Builds the line index of `text`.
    #[must_use]
    pub fn new(text: &str, encoding: Encoding) -> Self {
        let bytes = text.as_bytes();
        let ends = bytes.iter().enumerate().filter_map(|(at, byte)| {
            let ends = match byte {
                b'\n' => true,
                b'\r' => bytes.get(at + 1) != Some(&b'\n'),
                _ => false,
            };
            ends.then_some(at + 1)
        });
        let starts = [0].into_iter().chain(ends).collect();
        LineIndex { starts, encoding }
    }

    /// Returns the position of a byte offset. An offset inside a character is rounded down. An
    /// offset past the end gives the end of the text.
    #[must_use]
    pub fn position(&self, text: &str, byte: usize) -> EditorPosition {
        let mut byte = byte.min(text.len());
        while !text.is_char_boundary(byte) {
            byte -= 1;
        }
        let line = self.starts.partition_point(|start| *start <= byte) - 1;
        let start = self.starts.get(line).copied().unwrap_or_default();
        let before = text.get(start..byte).unwrap_or_default();
        EditorPosition {
            line: number(line),
            character: number(self.width(before)),
        }
    }

    /// Returns the byte offset of a position. A column past the end of the line gives the end of
    /// the line, as in the Language Server Protocol. A line after the last one gives the end of the
    /// text.
    #[must_use]
    pub fn byte(&self, text: &str, position: EditorPosition) -> usize {
        let line = position.line as usize;
        let Some(start) = self.starts.get(line).copied() else {
            return text.len();
        };
        let end = self.starts.get(line + 1).copied().unwrap_or(text.len());
        let row = text.get(start..end).unwrap_or_default();
        start
            + self.offset(
                row.trim_end_matches(['\r', '\n']),
                position.character as usize,
            )
    }

    fn width(&self, text: &str) -> usize {
        match self.encoding {
            Encoding::Utf16 => text.encode_utf16().count(),
            Encoding::Utf8 => text.len(),
        }
    }

    fn offset(&self, row: &str, column: usize) -> usize {
        let mut units = 0;
        for (at, char) in row.char_indices() {
            units += match self.encoding {
                Encoding::Utf16 => char.len_utf16(),
                Encoding::Utf8 => char.len_utf8(),
            };
            if units > column {
                return at;
            }
        }
        row.len()
    }
}

fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_and_bytes_are_each_others_counterpart() {
        let text = "用户: 你好😀!\r\nsystem: a\n\rend";
        let table = [
            ("用", 0, (0, 0), (0, 0)),
            ("你", 8, (0, 4), (0, 8)),
            ("😀", 14, (0, 6), (0, 14)),
            ("!", 18, (0, 8), (0, 18)),
            ("system", 21, (1, 0), (1, 0)),
            ("a", 29, (1, 8), (1, 8)),
            ("end", 32, (3, 0), (3, 0)),
        ];
        for (what, byte, utf16, utf8) in table {
            assert!(text[byte..].starts_with(what), "{what}");
            for (encoding, (line, character)) in [(Encoding::Utf16, utf16), (Encoding::Utf8, utf8)]
            {
                let lines = LineIndex::new(text, encoding);
                let position = EditorPosition { line, character };
                assert_eq!(lines.position(text, byte), position, "{what} {encoding:?}");
                assert_eq!(lines.byte(text, position), byte, "{what} {encoding:?}");
            }
        }
    }

    #[test]
    fn places_that_are_not_there_are_near() {
        let text = "a😀\nb";
        let lines = LineIndex::new(text, Encoding::Utf16);
        let at = |line, character| lines.byte(text, EditorPosition { line, character });
        assert_eq!(at(0, 2), 1, "inside of a character is its beginning");
        assert_eq!(at(0, 99), 5, "past the line's end is its end");
        assert_eq!(at(9, 0), 7, "past the last line is the end");
        let inside = lines.position(text, 3);
        assert_eq!((inside.line, inside.character), (0, 1));
        assert_eq!(lines.position(text, 99).line, 1);
    }
}
