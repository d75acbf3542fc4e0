//! Marks the tags of `<message role="user">…</message>` in literal text.
//!
//! Tags are found when a template is compiled, and only in its own text. Every character that is
//! essential to a tag (`<`, the start of an attribute's name, `=`, quotes, `/`, `>`) is marked, and
//! so is the `&` of each character reference. [`super::element_reader`] treats only marked
//! characters as structure, so a value may contain any text.

use std::borrow::Cow;

use memchr::memchr2;
use quillet_core::{Diagnostic, Span};

use super::{entity, secret};

/// Marks the tags in the literal texts of a template, in source order. A tag may begin in one text
/// and end in a later text, as in `<message role="{{$role}}">`.
///
/// A tag is named `message`, `text`, `image`, `audio` or `binary`, ignoring case, and has
/// attributes as in XML. Text that only resembles a tag remains text, for example if no blank
/// follows the name or an attribute is unquoted.
#[derive(Debug, Default)]
pub struct Elements {
    /// The open tag, if any.
    tag: Option<TagCandidate>,
    /// Offset of the open message.
    open: Option<usize>,
    /// Number of open `<message>` tags without a role, outside messages. These tags are text, and
    /// so are their end tags.
    plain: usize,
    /// Whether a message has begun.
    begun: bool,
    /// Whether the template has text before its first message.
    words: bool,
    faults: Vec<(OrderFault, usize)>,
}

/// Maximum number of reported errors. The number is limited because each location costs a scan of
/// the source.
const MAX_FAULTS: usize = 100;

/// An error in the order of tags, for texts that are always printed one after another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OrderFault {
    /// A message begins inside another one.
    Inside,
    /// An end tag without an open message.
    Stray,
}

/// A tag without its end.
#[derive(Clone, Debug)]
struct TagCandidate {
    start: usize,
    message: bool,
    role: bool,
    place: CandidatePosition,
}

/// Position in a tag.
#[derive(Clone, Copy, Debug, PartialEq)]
enum CandidatePosition {
    /// Before an attribute or the end of the tag.
    Between,
    /// In or after the name of an attribute. The name begins at this offset of the text.
    Name(usize),
    /// After `=`. The flag tells whether the attribute is the role.
    Equals(bool),
    /// In a value that ends with this quote.
    Quoted(u8),
    /// After an output outside quotes, which may have printed any text.
    Hole,
}

/// Result of scanning a tag in one text.
enum TagScanStep {
    /// The tag ends before this offset. The flag tells whether it has no content (`/>`).
    Ends(usize, bool),
    /// The text ends inside the tag.
    Open,
    /// This is not a tag.
    NoTag,
}

impl Elements {
    /// Marks the tags in text that has no location in a source, such as a trusted value. For other
    /// texts use [`Elements::mark_at`].
    pub fn mark<'t>(&mut self, literal: &'t str) -> Cow<'t, str> {
        self.mark_at(literal, 0)
    }

    /// Marks the tags in a literal text of a template. `at` is the offset of the text in the
    /// source, for [`Elements::unclosed`].
    pub fn mark_at<'t>(&mut self, literal: &'t str, at: usize) -> Cow<'t, str> {
        let mut marks = Vec::new();
        let mut from = match self.tag.take() {
            Some(tag) => self.resume(tag, literal, &mut marks),
            None => 0,
        };
        while self.tag.is_none() && from < literal.len() {
            from = self.text(literal, from, at, &mut marks);
        }
        marked(literal, &marks)
    }

    /// Whether [`Elements::mark`] could mark the start of a text. Formats use this to escape such
    /// text.
    #[must_use]
    // The check may be too strict: the output reader only treats marked text as structure, but the
    // formats escape everything that could be marked.
    pub fn would_mark(text: &str) -> bool {
        entity::read(text).is_some() || closing(text).is_some() || opening(text).is_some()
    }

    /// Returns the offset of the message that is still open after the last text, if any.
    #[must_use]
    pub fn unclosed(&self) -> Option<usize> {
        self.open
    }

    /// Returns the errors in the messages of a source. The source must print its texts in order,
    /// without conditions, loops or partials.
    #[must_use]
    pub fn diagnostics(&self, name: &str, source: &str) -> Vec<Diagnostic> {
        let mut found: Vec<Diagnostic> = Vec::new();
        let mut add = |message: &str, tag: &str, start: usize, help: &str| {
            let span = Span {
                start,
                end: start + tag.len(),
            };
            let error = Diagnostic::error("template.messages", name, message);
            found.push(error.at(source, span).help(help));
        };
        for (fault, start) in &self.faults {
            match fault {
                OrderFault::Inside => add(
                    "this <message> begins inside another one",
                    "<message",
                    *start,
                    "close the other one with </message> first",
                ),
                OrderFault::Stray => add(
                    "</message> without a matching <message>",
                    "</message",
                    *start,
                    "remove it, or begin the message with <message role=\"user\">",
                ),
            }
        }
        if let Some(start) = self.open {
            let help = "close it with </message>";
            add("unclosed <message>", "<message", start, help);
        }
        found
    }

    /// Reads text up to the end of the next tag or reference. Returns the next offset.
    fn text(&mut self, literal: &str, from: usize, at: usize, marks: &mut Vec<usize>) -> usize {
        let rest = literal.as_bytes().get(from..).unwrap_or_default();
        let next = memchr2(b'<', b'&', rest).map_or(literal.len(), |found| from + found);
        // The scan is needed only until text or a message was found.
        if !self.begun && !self.words {
            let before = literal.get(from..next).unwrap_or_default();
            self.words = !before.trim().is_empty();
        }
        let found = literal.get(next..).unwrap_or_default();
        if let Some((_, length)) = entity::read(found) {
            marks.push(next);
            return next + length;
        }
        if let Some((message, length)) = closing(found) {
            // This ends a `<message>` without a role, which is text.
            if message && self.open.is_none() && self.plain > 0 {
                self.plain -= 1;
                return next + length;
            }
            marks.push(next);
            if message && self.open.take().is_none() {
                self.fault(OrderFault::Stray, at + next);
            }
            return next + length;
        }
        // Text that is not a tag continues at the next byte, so each `<` is read at most once.
        match opening(found) {
            Some((message, length)) => {
                let tag = TagCandidate {
                    start: at + next,
                    message,
                    role: false,
                    place: CandidatePosition::Between,
                };
                self.begin(tag, literal, next, next + length, marks)
            }
            None => next + 1,
        }
    }

    /// Begins a tag. Its `<` is at `start`, and its attributes begin at `from`.
    fn begin(
        &mut self,
        tag: TagCandidate,
        literal: &str,
        start: usize,
        from: usize,
        marks: &mut Vec<usize>,
    ) -> usize {
        // The marks are removed if this turns out not to be a tag.
        let before = marks.len();
        marks.push(start);
        // The tag is marked twice if the author wrote text before the first message.
        if tag.message && self.words {
            marks.push(start);
        }
        let end = self.read_attributes(tag, literal, from, marks);
        if end.is_none() {
            marks.truncate(before);
        }
        end.unwrap_or(from)
    }

    /// Continues a tag after an output.
    fn resume(&mut self, mut tag: TagCandidate, literal: &str, marks: &mut Vec<usize>) -> usize {
        tag.place = match tag.place {
            // In quotes or after `role=`, the output is the value of the attribute, so the position
            // stays.
            CandidatePosition::Quoted(_) | CandidatePosition::Equals(true) => tag.place,
            _ => CandidatePosition::Hole,
        };
        let end = self.read_attributes(tag, literal, 0, marks);
        if end.is_none() {
            // The marks of this text are removed, but the marks of earlier texts remain. The output
            // reader restores such a tag as text.
            marks.clear();
        }
        end.unwrap_or(0)
    }

    /// Returns the offset after the tag, or `None` if it is not a tag.
    fn read_attributes(
        &mut self,
        mut tag: TagCandidate,
        literal: &str,
        from: usize,
        marks: &mut Vec<usize>,
    ) -> Option<usize> {
        match tag.attributes(literal, from, marks) {
            TagScanStep::NoTag => None,
            TagScanStep::Open => {
                self.tag = Some(tag);
                Some(literal.len())
            }
            TagScanStep::Ends(end, empty) => {
                self.ended(&tag, empty);
                Some(end)
            }
        }
    }

    fn fault(&mut self, fault: OrderFault, at: usize) {
        if self.faults.len() < MAX_FAULTS {
            self.faults.push((fault, at));
        }
    }

    /// Handles the end of a tag. A `<message>` without a role does not begin a message.
    fn ended(&mut self, tag: &TagCandidate, empty: bool) {
        if !tag.message {
            return;
        }
        // A `<message>` without a role is text. The opening tag is counted, so that its end tag is
        // also treated as text.
        if !tag.role {
            self.plain += usize::from(!empty && self.open.is_none());
            return;
        }
        self.begun = true;
        if self.open.is_some() {
            self.fault(OrderFault::Inside, tag.start);
        }
        self.open = Some(tag.start).filter(|_| !empty);
    }
}

impl TagCandidate {
    /// Reads attributes from an offset on. As in XML, a `<` is invalid even in quotes, so no text
    /// is scanned twice.
    fn attributes(&mut self, literal: &str, from: usize, marks: &mut Vec<usize>) -> TagScanStep {
        let bytes = literal.as_bytes();
        for (at, &byte) in bytes.iter().enumerate().skip(from) {
            if byte == b'<' {
                return TagScanStep::NoTag;
            }
            if let CandidatePosition::Quoted(quote) = self.place {
                self.quoted(literal, at, quote, marks);
                continue;
            }
            let ends = matches!(
                self.place,
                CandidatePosition::Between | CandidatePosition::Hole
            );
            // A value may also end here, because a tag may close after an output outside quotes.
            if ends && let Some(empty) = end(&bytes[at..]) {
                marks.push(at);
                marks.extend(empty.then_some(at + 1));
                return TagScanStep::Ends(at + 1 + usize::from(empty), empty);
            }
            if !self.named(literal, at, marks) {
                return TagScanStep::NoTag;
            }
        }
        TagScanStep::Open
    }

    /// Reads a byte in quotes.
    fn quoted(&mut self, literal: &str, at: usize, quote: u8, marks: &mut Vec<usize>) {
        match literal.as_bytes()[at] {
            b'&' if entity::read(&literal[at..]).is_some() => marks.push(at),
            byte if byte == quote => {
                marks.push(at);
                self.place = CandidatePosition::Between;
            }
            _ => {}
        }
    }

    /// Reads a byte outside quotes. Returns whether it is valid at this position.
    fn named(&mut self, literal: &str, at: usize, marks: &mut Vec<usize>) -> bool {
        let bytes = literal.as_bytes();
        let blank = matches!(bytes[at], b' ' | b'\t' | b'\r' | b'\n');
        self.place = match (self.place, bytes[at]) {
            (CandidatePosition::Equals(role), quote @ (b'"' | b'\'')) => {
                marks.push(at);
                self.role |= role;
                CandidatePosition::Quoted(quote)
            }
            (CandidatePosition::Hole, quote @ (b'"' | b'\'')) => {
                marks.push(at);
                CandidatePosition::Quoted(quote)
            }
            (CandidatePosition::Name(start), b'=') => {
                marks.extend([start, at]);
                CandidatePosition::Equals(literal[start..at].trim() == "role")
            }
            (CandidatePosition::Hole, b'=') => {
                marks.push(at);
                CandidatePosition::Equals(false)
            }
            (place @ (CandidatePosition::Equals(_) | CandidatePosition::Name(_)), _) if blank => {
                place
            }
            (_, _) if blank => CandidatePosition::Between,
            (CandidatePosition::Between | CandidatePosition::Hole, byte) if is_name(byte) => {
                CandidatePosition::Name(at)
            }
            (place @ CandidatePosition::Name(_), byte)
                if is_name(byte) && is_name(bytes[at - 1]) =>
            {
                place
            }
            _ => return false,
        };
        true
    }
}

/// Matches the end of a tag at the start of a text. Returns whether it is `/>`.
fn end(bytes: &[u8]) -> Option<bool> {
    match bytes {
        [b'>', ..] => Some(false),
        [b'/', b'>', ..] => Some(true),
        _ => None,
    }
}

// XML allows most characters outside ASCII in names, and a precise check has no benefit.
fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b':' | b'.') || !byte.is_ascii()
}

/// Names of tags. The flag tells whether a tag is a message.
const NAMES: &[(&str, bool)] = &[
    ("message", true),
    ("text", false),
    ("image", false),
    ("audio", false),
    ("binary", false),
];

/// Matches the name of a tag at the start of a text. Returns whether it is a message, and the
/// length.
fn named(text: &str) -> Option<(bool, usize)> {
    let starts = |name: &&(&str, bool)| {
        let start = text.get(..name.0.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(name.0))
    };
    let (name, message) = NAMES.iter().find(starts)?;
    Some((*message, name.len()))
}

/// Matches `<name` followed by a character that ends the name. Returns whether the tag is a
/// message, and the offset of its attributes.
fn opening(text: &str) -> Option<(bool, usize)> {
    let after = text.strip_prefix('<')?;
    let (message, length) = named(after)?;
    let next = after.as_bytes().get(length)?;
    matches!(next, b' ' | b'\t' | b'\r' | b'\n' | b'>' | b'/').then_some((message, 1 + length))
}

/// Matches `</name>`. Returns whether the tag is a message, and the length.
fn closing(text: &str) -> Option<(bool, usize)> {
    let after = text.strip_prefix("</")?;
    let (message, length) = named(after)?;
    let rest = after[length..].trim_start_matches([' ', '\t', '\r', '\n']);
    let end = text.len() - rest.strip_prefix('>')?.len();
    Some((message, end))
}

/// Inserts a mark before each of these offsets, which are sorted.
fn marked<'t>(literal: &'t str, marks: &[usize]) -> Cow<'t, str> {
    if marks.is_empty() {
        return Cow::Borrowed(literal);
    }
    let secret = secret::secret();
    let mut out = String::with_capacity(literal.len() + marks.len() * secret.len());
    let mut copied = 0;
    for &mark in marks {
        out.push_str(&literal[copied..mark]);
        out.push_str(secret);
        copied = mark;
    }
    out.push_str(&literal[copied..]);
    Cow::Owned(out)
}
