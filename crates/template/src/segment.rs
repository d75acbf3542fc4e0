//! Segments of a rendered text with their origins, like prompty's `render_segments`.
//!
//! A pass records segments only if the render requests them. Text that the format does not report
//! as the template's own is a value. If a format does not report any text, there are no literal
//! segments.

use std::ops::Range;

use crate::structure;

/// A segment of a rendered text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextSegment {
    /// Origin of the text.
    pub kind: SegmentKind,
    /// Text of the segment, which is never empty.
    pub text: String,
    /// Source of a printed value. For a variable, this is the variable as written in the template
    /// (`q`, `user.name`), without a sign that only marks variables. For a call, it is the name of
    /// the function. `None` for the template's own text, and for values that have no source or
    /// several sources.
    pub source: Option<String>,
}

/// Origin of a segment: the template or a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SegmentKind {
    /// The template's own text.
    Literal,
    /// A printed value.
    Interp,
}

impl SegmentKind {
    /// Returns prompty's name for the origin: `literal` or `interp`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            SegmentKind::Literal => "literal",
            SegmentKind::Interp => "interp",
        }
    }
}

/// Origins of ranges of one output. The ranges are ordered, disjoint and not empty. The origin of
/// the bytes between ranges is unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Origins(Vec<SegmentRange>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct SegmentRange {
    range: Range<usize>,
    kind: SegmentKind,
    source: Option<String>,
}

impl Origins {
    /// Size of one range in bytes, without the source's name.
    pub(crate) const PART_BYTES: usize = size_of::<SegmentRange>();

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// Records a range at the end of the output as the template's own text.
    pub(crate) fn literal(&mut self, range: Range<usize>) {
        // Formats write literal text in several calls. Adjacent texts form one segment.
        match self.0.last_mut() {
            Some(last) if last.kind == SegmentKind::Literal && last.range.end == range.start => {
                last.range.end = range.end;
            }
            _ => self.push(range, SegmentKind::Literal, None),
        }
    }

    /// Records a range at the end of the output as a value. Earlier records of the range are
    /// replaced.
    pub(crate) fn value(&mut self, range: Range<usize>, source: Option<String>) {
        // A printed value may contain parts that were recorded separately, such as the text of a
        // macro.
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

    /// Discards all records after an offset.
    fn truncate(&mut self, start: usize) {
        let kept = self.0.partition_point(|part| part.range.start < start);
        self.0.truncate(kept);
        // The last remaining range may extend beyond the offset.
        if let Some(last) = self.0.last_mut() {
            last.range.end = last.range.end.min(start);
        }
    }

    /// Removes and returns the records after an offset.
    pub(crate) fn split_off(&mut self, start: usize) -> Origins {
        let mut taken = Origins::default();
        // `copy` splits a range that contains `start`.
        taken.copy(self, start..usize::MAX, start);
        self.truncate(start);
        taken
    }

    /// Adds the records of a range whose bytes were moved to `to`. Returns the number of added
    /// records.
    pub(crate) fn copy(&mut self, others: &Origins, range: Range<usize>, to: usize) -> usize {
        // The ranges are sorted and disjoint, so a binary search finds the first one.
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

    /// Returns the segments of an output without the marks of message structure.
    pub(crate) fn segments(&self, bytes: &[u8]) -> Vec<TextSegment> {
        let mut segments = Segments::new(bytes);
        for part in &self.0 {
            // The gap before the range, which has an unknown origin, is added first, and then the
            // range.
            segments.add(part.range.start, SegmentKind::Interp, None);
            segments.add(part.range.end, part.kind, part.source.as_ref());
        }
        segments.add(bytes.len(), SegmentKind::Interp, None);
        segments.all
    }
}

/// Segments under construction.
struct Segments<'b> {
    bytes: &'b [u8],
    /// Number of bytes that were already added.
    done: usize,
    all: Vec<TextSegment>,
}

impl<'b> Segments<'b> {
    fn new(bytes: &'b [u8]) -> Self {
        Segments {
            bytes,
            done: 0,
            all: Vec::new(),
        }
    }

    /// Adds the bytes up to `end`. Go's `slice` can split a character between two values, which
    /// then belongs to the first value.
    fn add(&mut self, end: usize, kind: SegmentKind, source: Option<&String>) {
        let rest = self.bytes.get(end..).unwrap_or_default();
        let is_inside = |byte: &&u8| (**byte & 0xC0) == 0x80;
        let end = end + rest.iter().take_while(is_inside).count();
        let Some(bytes) = self.bytes.get(self.done..end) else {
            return;
        };
        self.done = end;
        // Marks are removed last, because the origins also count the bytes of marks.
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
