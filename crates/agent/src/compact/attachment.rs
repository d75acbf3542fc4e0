//! Finds attachments in a text.
//!
//! Front ends embed the text of files in messages in one of two forms: as
//! `<attachment>…</attachment>`, or as the text after a line that begins with `[Attachment 1 …]`,
//! `[File Content…]` or `[Document…]`.

use std::ops::Range;

use super::shorten::shorten;

const OPEN: &str = "<attachment";
const CLOSE: &str = "</attachment>";
/// Maximum length of a marker in brackets.
const MARKER_BYTES: usize = 512;

/// Returns the byte ranges of all attachment contents in a text, in order.
pub(super) fn find(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut open: Option<usize> = None;
    let mut at = 0;
    while let Some(next) = text[at..].find(['<', '[']).map(|step| at + step) {
        at = next + 1;
        if let Some(start) = element(text, next) {
            found.extend(open.take().map(|from| from..next));
            let end = text[start..].find(CLOSE).map(|step| start + step);
            // An unclosed element extends to the end of the text.
            found.push(start..end.unwrap_or(text.len()));
            at = end.map_or(text.len(), |end| end + CLOSE.len());
        } else if let Some((start, opens)) = marker(text, next) {
            found.extend(open.take().map(|from| from..next));
            open = opens.then_some(start);
            at = start;
        }
    }
    found.extend(open.map(|from| from..text.len()));
    found
}

/// Returns the start of the content, if an element begins at `at`.
fn element(text: &str, at: usize) -> Option<usize> {
    let rest = text.get(at..)?.strip_prefix(OPEN)?;
    // Excludes longer names, such as `<attachments>`.
    if !rest.starts_with(['>', ' ', '\n']) {
        return None;
    }
    // Bounded, because many unclosed tags would otherwise take quadratic time.
    let inside = clip(rest, MARKER_BYTES).find('>')?;
    Some(at + OPEN.len() + inside + 1)
}

/// If a marker begins at `at`, returns the end of the marker and whether content follows. A marker
/// may also only close the previous attachment.
fn marker(text: &str, at: usize) -> Option<(usize, bool)> {
    // A bracket inside a line does not start a marker.
    let begins_line = at == 0 || text.as_bytes().get(at - 1) == Some(&b'\n');
    let rest = text.get(at..).filter(|_| begins_line)?;
    let line = clip(rest, MARKER_BYTES).lines().next()?;
    let inside = line.get(1..line.find(']')?)?;
    let start = at + inside.len() + 2;
    if is_opening(inside) {
        return Some((start, true));
    }
    let name = inside
        .strip_prefix(['/'])
        .or(inside.strip_prefix("End of "));
    let name = name.or(inside.strip_prefix("End "))?;
    let known = ["Attachment", "File", "Document"];
    known
        .iter()
        .any(|kind| name.starts_with(kind))
        .then_some((start, false))
}

fn is_opening(inside: &str) -> bool {
    let numbered = inside.strip_prefix("Attachment ");
    numbered.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        || inside.starts_with("File Content")
        || inside.starts_with("Document")
}

/// Returns the longest prefix of the text within this number of bytes, cut at a character boundary.
fn clip(text: &str, bytes: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes)).unwrap_or(text)
}

/// Cuts each attachment to `keep` characters. Returns the text and the number of removed
/// characters; `None` if all attachments are short enough.
pub(super) fn cut(text: &str, keep: usize) -> Option<(String, usize)> {
    let mut cut = String::new();
    let mut missing = 0;
    let mut done = 0;
    for block in find(text) {
        let Some((short, characters)) = text.get(block.clone()).and_then(|t| shorten(t, keep))
        else {
            continue;
        };
        cut.push_str(text.get(done..block.start)?);
        cut.push_str(&short);
        missing += characters;
        done = block.end;
    }
    cut.push_str(text.get(done..)?);
    (missing > 0).then_some((cut, missing))
}
