//! A part of a file, perhaps changed a little before it is read, and the way back.

use std::borrow::Cow;

use quillet_core::Span;

/// Text that is read as a document, and where each of its bytes stands in the file.
#[derive(Clone, Debug)]
pub struct MappedText<'a> {
    text: Cow<'a, str>,
    runs: Vec<OffsetMapping>,
}

/// Bytes that follow each other in the text and in the file.
#[derive(Clone, Copy, Debug)]
struct OffsetMapping {
    /// The first byte in the text.
    made: usize,
    /// The same byte in the file.
    kept: usize,
    /// How many bytes of the file; 0 for what was put in.
    len: usize,
}

impl<'a> MappedText<'a> {
    /// A part of a file as it stands. A span that cuts a character, or lies outside of the file, is
    /// empty.
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

    /// Nothing yet, for [`MappedText::keep`] and [`MappedText::put`].
    #[must_use]
    pub fn empty() -> Self {
        MappedText {
            text: Cow::Borrowed(""),
            runs: Vec::new(),
        }
    }

    /// Goes on with a part of the file.
    pub fn keep(&mut self, file: &str, span: Span) {
        let text = file.get(span.start..span.end).unwrap_or_default();
        self.runs.push(OffsetMapping {
            made: self.text.len(),
            kept: span.start.min(file.len()),
            len: text.len(),
        });
        self.text.to_mut().push_str(text);
    }

    /// Goes on with a text that the file does not have; `at` is where it would stand there.
    pub fn put(&mut self, text: &str, at: usize) {
        self.runs.push(OffsetMapping {
            made: self.text.len(),
            kept: at,
            len: 0,
        });
        self.text.to_mut().push_str(text);
    }

    /// The text that is read.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Where a byte of the text stands in the file.
    #[must_use]
    pub fn place(&self, byte: usize) -> usize {
        self.find(self.runs.partition_point(|run| run.made <= byte), byte)
    }

    /// Where a part of the text stands in the file.
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
