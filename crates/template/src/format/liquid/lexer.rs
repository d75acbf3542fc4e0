//! Splits a source into text, tags and outputs, like Liquid's own tokenizer.

use std::ops::Range;

use super::token::is_space;
use crate::format::problem::ParseProblem;

/// A segment of a source.
#[derive(Clone, Debug)]
pub(super) struct SourcePart {
    pub(super) kind: SourcePartKind,
    pub(super) place: Range<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SourcePartKind {
    Text,
    /// `{% … %}`
    Tag,
    /// `{{ … }}`. A single closing brace ends the output too, but is an error.
    Output,
    /// An unclosed `{%` or `{{`.
    Open,
}

/// Iterates over the segments of a source.
#[derive(Debug)]
pub(super) struct Lexer<'s> {
    text: &'s str,
    next: usize,
    /// Whether a delimiter is absent from the rest of the source. This avoids searching for it
    /// again at every tag.
    no_tag_end: bool,
    no_brace: bool,
}

impl<'s> Lexer<'s> {
    pub(super) fn new(text: &'s str) -> Self {
        Lexer {
            text,
            next: 0,
            no_tag_end: false,
            no_brace: false,
        }
    }

    pub(super) fn next(&mut self) -> Option<SourcePart> {
        let rest = self.text.get(self.next..).filter(|rest| !rest.is_empty())?;
        let start = self.next;
        let (kind, length) = match opening(rest) {
            None => (SourcePartKind::Text, rest.len()),
            Some(0) => self.marked(rest),
            Some(before) => (SourcePartKind::Text, before),
        };
        self.next += length;
        Some(SourcePart {
            kind,
            place: start..self.next,
        })
    }

    /// Reads a segment that begins with `{%` or `{{`.
    fn marked(&mut self, rest: &str) -> (SourcePartKind, usize) {
        let inside = &rest[2..];
        if rest.starts_with("{%") {
            let end = if self.no_tag_end {
                None
            } else {
                inside.find("%}")
            };
            self.no_tag_end = end.is_none();
            return match end {
                Some(end) => (SourcePartKind::Tag, end + 4),
                None => (SourcePartKind::Open, 2),
            };
        }
        let end = if self.no_brace {
            None
        } else {
            memchr::memchr(b'}', inside.as_bytes())
        };
        self.no_brace = end.is_none();
        match end {
            Some(end) => {
                let second = inside.as_bytes().get(end + 1) == Some(&b'}');
                (SourcePartKind::Output, end + 3 + usize::from(second))
            }
            None => (SourcePartKind::Open, 2),
        }
    }
}

/// Returns the offset of the first `{%` or `{{`.
fn opening(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    memchr::memchr_iter(b'{', bytes).find(|at| matches!(bytes.get(at + 1), Some(b'{' | b'%')))
}

/// A tag with its name and its markup.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tag<'s> {
    pub(super) name: &'s str,
    pub(super) markup: &'s str,
    /// Offset of the markup in the source.
    pub(super) at: usize,
    /// Span of the entire tag.
    pub(super) start: usize,
    pub(super) end: usize,
}

/// Parses a tag. `place` includes `{%` and `%}`.
pub(super) fn tag<'s>(text: &'s str, place: &Range<usize>) -> Result<Tag<'s>, ParseProblem> {
    let (start, end) = (place.start, place.end);
    let inside = text.get(start + 2..end - 2).unwrap_or_default();
    let begins = usize::from(inside.starts_with('-'));
    let inside = &inside[begins..];
    let inside = inside.strip_suffix('-').unwrap_or(inside);
    match divided(inside) {
        Some((name, markup)) => Ok(Tag {
            name: &inside[name],
            markup: &inside[markup..],
            at: start + 2 + begins + markup,
            start,
            end,
        }),
        None => Err(ParseProblem::at("a tag needs a name", start, end)
            .help("write {% raw %}…{% endraw %} around literal braces")),
    }
}

/// Parses a line of a `liquid` tag as a tag.
pub(super) fn line<'s>(text: &'s str, place: &Range<usize>) -> Option<Tag<'s>> {
    let inside = text.get(place.clone())?;
    let (name, markup) = divided(inside)?;
    Some(Tag {
        name: &inside[name],
        markup: &inside[markup..],
        at: place.start + markup,
        start: place.start + (inside.len() - inside.trim_start_matches(is_space).len()),
        end: place.end,
    })
}

/// Returns the range of the name, and the offset of the markup.
fn divided(inside: &str) -> Option<(Range<usize>, usize)> {
    let start = inside.len() - inside.trim_start_matches(is_space).len();
    let rest = &inside[start..];
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let length = if rest.starts_with('#') {
        1
    } else {
        rest.find(|c| !is_word(c)).unwrap_or(rest.len())
    };
    let after = &rest[length..];
    let blanks = after.len() - after.trim_start_matches(is_space).len();
    (length > 0).then_some((start..start + length, start + length + blanks))
}

/// Finds the end tag of `raw` in a segment. Returns its offset, and whether it trims the text after
/// it.
pub(super) fn end_of_raw(piece: &str) -> Option<(usize, bool)> {
    let inside = piece.strip_suffix("%}")?;
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    for (at, _) in inside.rmatch_indices("{%") {
        let rest = &inside[at + 2..];
        let rest = rest.strip_prefix('-').unwrap_or(rest);
        let rest = rest.trim_start_matches(is_space);
        let name = &rest[..rest.find(|c| !is_word(c)).unwrap_or(rest.len())];
        if !name.is_empty() {
            return (name == "endraw").then(|| (at, inside.ends_with('-')));
        }
    }
    None
}
