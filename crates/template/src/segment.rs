//! A rendered text in pieces that say where they come from, as prompty's
//! `render_segments` has it.
//!
//! A pass notes the pieces only where the render asked for it. What no format
//! has called the template's own text is a value: a format that says nothing
//! has no literal pieces.

use std::ops::Range;

use crate::structure;

/// A piece of a rendered text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextSegment {
    /// What wrote it.
    pub kind: SegmentKind,
    /// The text; never empty.
    pub text: String,
    /// Where a printed value comes from: the variable as the template writes
    /// it, without a sign that only says that it is one (`q`, `user.name`), or the
    /// name of the function that was called. `None` where more than one had a
    /// part in it, or none, and for the template's own text.
    pub source: Option<String>,
}

/// The origin of a piece of rendered text: the template, or a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SegmentKind {
    /// The template.
    Literal,
    /// A value was printed.
    Interp,
}

impl SegmentKind {
    /// As in prompty: `literal` or `interp`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            SegmentKind::Literal => "literal",
            SegmentKind::Interp => "interp",
        }
    }
}

/// Where the parts of one output come from: in order, without overlap, none
/// empty. What is between them was printed by nobody knows what.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Origins(Vec<SegmentRange>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct SegmentRange {
    range: Range<usize>,
    kind: SegmentKind,
    source: Option<String>,
}

impl Origins {
    /// Bytes that a part takes, besides the name of its source.
    pub(crate) const PART_BYTES: usize = size_of::<SegmentRange>();

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// The template's own text stands there, at the end.
    pub(crate) fn literal(&mut self, range: Range<usize>) {
        match self.0.last_mut() {
            Some(last) if last.kind == SegmentKind::Literal && last.range.end == range.start => {
                last.range.end = range.end;
            }
            _ => self.push(range, SegmentKind::Literal, None),
        }
    }

    /// A value stands there, at the end, whatever was noted of it before.
    pub(crate) fn value(&mut self, range: Range<usize>, source: Option<String>) {
        self.truncate(range.start);
        self.push(range, SegmentKind::Interp, source);
    }

    fn push(&mut self, range: Range<usize>, kind: SegmentKind, source: Option<String>) {
        if !range.is_empty() {
            self.0.push(SegmentRange {
                range,
                kind,
                source,
            });
        }
    }

    /// Forgets what stands from there on.
    fn truncate(&mut self, start: usize) {
        let kept = self.0.partition_point(|part| part.range.start < start);
        self.0.truncate(kept);
        if let Some(last) = self.0.last_mut() {
            last.range.end = last.range.end.min(start);
        }
    }

    /// Takes what stands from there on.
    pub(crate) fn split_off(&mut self, start: usize) -> Origins {
        let mut taken = Origins::default();
        taken.copy(self, start..usize::MAX, start);
        self.truncate(start);
        taken
    }

    /// Adds what others say of a range that now stands at `to`. Says how many
    /// parts that were.
    pub(crate) fn copy(&mut self, others: &Origins, range: Range<usize>, to: usize) -> usize {
        let first = others
            .0
            .partition_point(|part| part.range.end <= range.start);
        let inside = others.0.iter().skip(first);
        let before = self.0.len();
        for part in inside.take_while(|part| part.range.start < range.end) {
            let start = part.range.start.max(range.start) - range.start + to;
            let end = part.range.end.min(range.end) - range.start + to;
            self.push(start..end, part.kind, part.source.clone());
        }
        self.0.len() - before
    }

    /// The pieces of an output, without the marks of structure in it.
    pub(crate) fn segments(&self, bytes: &[u8]) -> Vec<TextSegment> {
        let mut segments = Segments::of(bytes);
        for part in &self.0 {
            segments.add(part.range.start, SegmentKind::Interp, None);
            segments.add(part.range.end, part.kind, part.source.as_ref());
        }
        segments.add(bytes.len(), SegmentKind::Interp, None);
        segments.all
    }
}

/// Segments on their way.
struct Segments<'b> {
    bytes: &'b [u8],
    /// How much of the bytes is in them.
    done: usize,
    all: Vec<TextSegment>,
}

impl<'b> Segments<'b> {
    fn of(bytes: &'b [u8]) -> Self {
        Segments {
            bytes,
            done: 0,
            all: Vec::new(),
        }
    }

    /// Adds what stands before `end`. A character that two values share, as
    /// Go's `slice` may cut it, goes to the first.
    fn add(&mut self, end: usize, kind: SegmentKind, source: Option<&String>) {
        let rest = self.bytes.get(end..).unwrap_or_default();
        let is_inside = |byte: &&u8| (**byte & 0xC0) == 0x80;
        let end = end + rest.iter().take_while(is_inside).count();
        let Some(bytes) = self.bytes.get(self.done..end) else {
            return;
        };
        self.done = end;
        let bytes = structure::strip(bytes.to_vec());
        let text = String::from_utf8_lossy(&bytes);
        match self.all.last_mut() {
            _ if text.is_empty() => {}
            Some(last) if kind == SegmentKind::Literal && last.kind == kind => {
                last.text.push_str(&text);
            }
            _ => self.all.push(TextSegment {
                kind,
                text: text.into_owned(),
                source: source.cloned(),
            }),
        }
    }
}
