//! Part of a file, possibly modified before parsing, with a mapping back to the file.

use std::borrow::Cow;

use quillet_core::Span;

/// Text to parse, and the location of each of its bytes in the file.
///
/// # Examples
///
/// ```
/// use quillet_core::Span;
/// use quillet_yaml::MappedText;
///
/// let file = "---\nname: Ada\n---\n";
/// let front = MappedText::of(file, Span { start: 4, end: 14 });
/// assert_eq!(front.text(), "name: Ada\n");
/// assert_eq!(front.place(6), 10);
/// assert_eq!(&file[10..13], "Ada");
/// ```
#[derive(Clone, Debug)]
pub struct MappedText<'a> {
    text: Cow<'a, str>,
    runs: Vec<OffsetMapping>,
}

/// Bytes that are contiguous in the text and in the file.
#[derive(Clone, Copy, Debug)]
struct OffsetMapping {
    /// Offset of the first byte in the text.
    made: usize,
    /// Offset of the same byte in the file.
    kept: usize,
    /// Number of bytes of the file; 0 for inserted text.
    len: usize,
}

impl<'a> MappedText<'a> {
    /// Creates a text that is an unmodified part of a file. The text is empty if the span splits a
    /// character or is outside the file.
    #[must_use]
    pub fn of(file: &'a str, span: Span) -> Self {
        let text = file.get(span.start..span.end).unwrap_or_default();
        let run = OffsetMapping {
            made: 0,
            kept: span.start.min(file.len()),
            len: text.len(),
        };
        MappedText {
            text: Cow::Borrowed(text),
            runs: vec![run],
        }
    }

    /// Creates an empty text, for [`MappedText::keep`] and [`MappedText::put`].
    #[must_use]
    pub fn empty() -> Self {
        MappedText {
            text: Cow::Borrowed(""),
            runs: Vec::new(),
        }
    }

    /// Appends a part of the file.
    pub fn keep(&mut self, file: &str, span: Span) {
        let text = file.get(span.start..span.end).unwrap_or_default();
        self.runs.push(OffsetMapping {
            made: self.text.len(),
            kept: span.start.min(file.len()),
            len: text.len(),
        });
        self.text.to_mut().push_str(text);
    }

    /// Appends text that the file does not contain. `at` is the offset in the file that stands for
    /// its location.
    pub fn put(&mut self, text: &str, at: usize) {
        self.runs.push(OffsetMapping {
            made: self.text.len(),
            kept: at,
            len: 0,
        });
        self.text.to_mut().push_str(text);
    }

    /// Returns the text to parse.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Converts a byte offset in the text to an offset in the file.
    #[must_use]
    pub fn place(&self, byte: usize) -> usize {
        self.find(self.runs.partition_point(|run| run.made <= byte), byte)
    }

    /// Converts a span in the text to a span in the file.
    #[must_use]
    pub fn span(&self, start: usize, end: usize) -> Span {
        let first = self.place(start);
        let last = self.find(self.runs.partition_point(|run| run.made < end), end);
        Span {
            start: first,
            end: last.max(first),
        }
    }

    fn find(&self, after: usize, byte: usize) -> usize {
        let run = after.checked_sub(1).and_then(|index| self.runs.get(index));
        run.map_or(0, |run| run.kept + (byte - run.made).min(run.len))
    }
}
