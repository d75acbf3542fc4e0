//! Where a part of a scalar's text stands in the file.

use std::ops::Range;

use quillet_core::Span;

use crate::syntax::{Source, Text};

/// The text of a node, with its place.
pub(super) fn text_of(node: &quillet_yaml::Node) -> Option<Text> {
    let value = node.as_str()?.into();
    let span = node.span;
    Some(Text { span, value })
}

/// The place of a part. Where YAML changed the text (escapes, folding), the first place in the scalar
/// that reads like the part, or else the scalar.
pub(super) fn part(source: &Source, text: &Text, range: Range<usize>) -> Span {
    let whole = text.span;
    let (Some(written), Some(part)) = (
        source.text.get(whole.start..whole.end),
        text.value.get(range.clone()),
    ) else {
        return whole;
    };
    let exact = written
        .find(text.value.as_ref())
        .map(|start| start + range.start);
    match exact.or_else(|| written.find(part)) {
        Some(start) if !part.is_empty() => {
            let start = whole.start + start;
            let end = start + part.len();
            Span { start, end }
        }
        _ => whole,
    }
}
