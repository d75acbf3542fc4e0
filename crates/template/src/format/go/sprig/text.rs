//! Cutting, wrapping and indenting of text. As in Go these work on bytes, so a cut may split a
//! character. Callers check the limits first.

use std::ops::Range;

/// Returns Go's message for a slice expression that is out of bounds.
fn out_of_range(from: i64, to: i64) -> String {
    format!("runtime error: slice bounds out of range [{from}:{to}]")
}

/// Returns the bytes that `trunc` keeps: the first `count`, or the last ones if `count` is
/// negative.
pub(super) fn trunc(count: i64, text: &[u8]) -> &[u8] {
    let kept = usize::try_from(count.unsigned_abs()).unwrap_or(usize::MAX);
    if kept >= text.len() {
        return text;
    }
    if count < 0 {
        return &text[text.len() - kept..];
    }
    &text[..kept]
}

/// Sprig's `substr`. A negative start means the start of the text. A negative or too large end
/// means the end of the text.
pub(super) fn substr(start: i64, end: i64, text: &[u8]) -> Result<&[u8], String> {
    let length = i64::try_from(text.len()).unwrap_or(i64::MAX);
    let (start, end) = match (start, end) {
        (..0, ..0) => {
            return Err(format!("runtime error: slice bounds out of range [:{end}]"));
        }
        (..0, _) if end > length => {
            return Err(format!(
                "runtime error: slice bounds out of range [:{end}] with length {length}"
            ));
        }
        (..0, _) => (0, end),
        (_, ..0) => (start, length),
        _ => (start, end.min(length)),
    };
    range(start, end)
        .and_then(|range| text.get(range))
        .ok_or_else(|| out_of_range(start, end))
}

fn range(start: i64, end: i64) -> Option<Range<usize>> {
    Some(usize::try_from(start).ok()?..usize::try_from(end).ok()?)
}

/// Shortens a text to at most `width` bytes, by the rules of goutils. Dots replace the text omitted
/// at the start (with `offset`) and at the end.
pub(super) fn abbreviate(text: &[u8], offset: i64, width: i64) -> Vec<u8> {
    let Ok(width) = usize::try_from(width) else {
        return text.to_vec();
    };
    if width < 4 || (offset > 0 && width < 7) {
        return text.to_vec();
    }
    if text.len() <= width {
        return text.to_vec();
    }
    let room = width - 3;
    let last = text.len() - room;
    let offset = usize::try_from(offset).unwrap_or(0).min(last);
    if offset <= 4 {
        return [&text[..room], b"..."].concat();
    }
    if offset < last {
        let body = &text[offset..];
        let body = if body.len() > room {
            [&body[..room - 3], b"..."].concat()
        } else {
            body.to_vec()
        };
        return [b"...", &body[..]].concat();
    }
    [b"...", &text[last..]].concat()
}

/// Options for wrapping lines.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wrap<'a> {
    /// Maximum bytes per line, at least 1.
    pub(super) width: usize,
    /// Separator between lines.
    pub(super) newline: &'a [u8],
    /// Whether to break words longer than a line.
    pub(super) break_words: bool,
}

/// Breaks a text into lines. Each line break replaces a space.
pub(super) fn wrap(text: &[u8], wrap: Wrap<'_>) -> Vec<u8> {
    let width = wrap.width.max(1);
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while rest.len() > width {
        if rest[0] == b' ' {
            rest = &rest[1..];
            continue;
        }
        let (line, skipped) = first_line(rest, width, wrap.break_words);
        out.extend_from_slice(&rest[..line]);
        if line == rest.len() {
            return out;
        }
        out.extend_from_slice(wrap.newline);
        rest = &rest[line + skipped..];
    }
    out.extend_from_slice(rest);
    out
}

/// Returns the length of the first line of a text that does not fit on one line, and the number of
/// bytes that the line break replaces.
fn first_line(text: &[u8], width: usize, break_words: bool) -> (usize, usize) {
    let space = |byte: &u8| *byte == b' ';
    if let Some(at) = text[..=width].iter().rposition(space) {
        return (at, 1);
    }
    if break_words {
        return (width, 0);
    }
    match text[width..].iter().position(space) {
        Some(at) => (width + at, 1),
        None => (text.len(), 0),
    }
}

/// Indents every line.
pub(super) fn indent(spaces: usize, text: &[u8]) -> Vec<u8> {
    let pad = vec![b' '; spaces];
    let mut out = Vec::with_capacity(text.len() + spaces * (1 + lines(text)));
    for (at, line) in text.split(|&byte| byte == b'\n').enumerate() {
        if at > 0 {
            out.push(b'\n');
        }
        out.extend_from_slice(&pad);
        out.extend_from_slice(line);
    }
    out
}

/// Counts the line breaks in a text.
pub(super) fn lines(text: &[u8]) -> usize {
    text.iter().filter(|&&byte| byte == b'\n').count()
}

/// Returns the offsets of `needle` in `text`, without overlaps. As in Go, an empty needle occurs
/// before every character and at the end.
pub(super) fn occurrences(text: &[u8], needle: &[u8]) -> Vec<usize> {
    if needle.is_empty() {
        let mut starts = starts(text);
        starts.push(text.len());
        return starts;
    }
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(at) = find(&text[from..], needle) {
        found.push(from + at);
        from += at + needle.len();
    }
    found
}

/// Returns an upper bound on the number of [`occurrences`].
pub(super) fn count(text: &[u8], needle: &[u8]) -> usize {
    if needle.is_empty() {
        return text.len() + 1;
    }
    let mut count = 0;
    let mut rest = text;
    while let Some(at) = find(rest, needle) {
        count += 1;
        rest = &rest[at + needle.len()..];
    }
    count
}

/// Returns the first offset of `needle` in `text`.
pub(super) fn find(text: &[u8], needle: &[u8]) -> Option<usize> {
    match needle {
        [] => Some(0),
        [first, rest @ ..] => {
            let mut from = 0;
            loop {
                let at = from + text[from..].iter().position(|byte| byte == first)?;
                if text[at + 1..].starts_with(rest) {
                    return Some(at);
                }
                from = at + 1;
            }
        }
    }
}

/// Returns the start of each character. An invalid UTF-8 byte counts as a character.
fn starts(text: &[u8]) -> Vec<usize> {
    let mut starts = Vec::new();
    let mut at = 0;
    for chunk in text.utf8_chunks() {
        starts.extend(chunk.valid().char_indices().map(|(index, _)| at + index));
        at += chunk.valid().len();
        starts.extend((0..chunk.invalid().len()).map(|index| at + index));
        at += chunk.invalid().len();
    }
    starts
}

/// Splits a text at a separator. An empty separator splits it into characters.
pub(super) fn split<'a>(text: &'a [u8], separator: &[u8], limit: usize) -> Vec<&'a [u8]> {
    if limit == 0 {
        return Vec::new();
    }
    let cuts = match separator {
        [] => starts(text).into_iter().skip(1).collect(),
        _ => occurrences(text, separator),
    };
    let mut pieces = Vec::with_capacity(cuts.len().min(limit) + 1);
    let mut from = 0;
    for cut in cuts.into_iter().take(limit - 1) {
        pieces.push(&text[from..cut]);
        from = cut + separator.len();
    }
    if !(separator.is_empty() && text.is_empty()) {
        pieces.push(&text[from..]);
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_fall_on_bytes() {
        assert_eq!(trunc(3, "héllo".as_bytes()), "hé".as_bytes());
        assert_eq!(trunc(-2, b"hello"), b"lo");
        assert_eq!(trunc(-9, b"hello"), b"hello");
        assert_eq!(trunc(0, b"hello"), b"");
        assert_eq!(substr(0, 100, b"hello"), Ok(&b"hello"[..]));
        assert_eq!(substr(-1, 2, b"hello"), Ok(&b"he"[..]));
        assert_eq!(substr(2, -1, b"hello"), Ok(&b"llo"[..]));
        let wrong = [
            (20, 30, "[20:5]"),
            (3, 2, "[3:2]"),
            (-1, 9, "[:9] with length 5"),
            (-1, -1, "[:-1]"),
        ];
        for (start, end, place) in wrong {
            let error = substr(start, end, b"hello").unwrap_err();
            assert_eq!(
                error,
                format!("runtime error: slice bounds out of range {place}")
            );
        }
    }

    #[test]
    fn dots_stand_for_what_is_left_out() {
        let text = b"The quick brown fox jumps over the lazy dog.";
        let cases: [(i64, i64, &str); 5] = [
            (0, 10, "The qui..."),
            (5, 10, "...uick..."),
            (40, 10, "...zy dog."),
            (0, 3, "The quick brown fox jumps over the lazy dog."),
            (3, 8, "The q..."),
        ];
        for (offset, width, wanted) in cases {
            assert_eq!(abbreviate(text, offset, width), wanted.as_bytes());
        }
    }

    #[test]
    fn lines_break_at_spaces() {
        let plain = Wrap {
            width: 5,
            newline: b"\n",
            break_words: false,
        };
        assert_eq!(wrap(b"aaa bbb cc dd", plain), b"aaa\nbbb\ncc dd");
        assert_eq!(wrap(b"abcdefgh ij", plain), b"abcdefgh\nij");
        assert_eq!(wrap(b"abcdefgh", plain), b"abcdefgh");
        let broken = Wrap {
            newline: b"|",
            break_words: true,
            ..plain
        };
        assert_eq!(wrap(b"abcdefgh ij", broken), b"abcde|fgh|ij");
    }

    #[test]
    fn an_empty_separator_gives_characters() {
        assert_eq!(occurrences(b"abc", b""), [0, 1, 2, 3]);
        assert_eq!(occurrences(b"aaaa", b"aa"), [0, 2]);
        let pieces = split("hé\u{4E16}".as_bytes(), b"", usize::MAX);
        assert_eq!(pieces, [&b"h"[..], "é".as_bytes(), "世".as_bytes()]);
        assert_eq!(split(b"", b",", usize::MAX), [b""]);
        assert!(split(b"", b"", usize::MAX).is_empty());
        assert_eq!(split(b"a,b,c", b",", 2), [&b"a"[..], b"b,c"]);
    }
}
