//! Front matter: YAML between two `---` lines, followed by the template.

use quillet_core::Span;

/// Locations of the front matter and the template in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FrontMatter {
    /// The YAML.
    pub(super) front: Span,
    /// The template.
    pub(super) body: Span,
}

/// Splits a dotprompt file like the reference implementation. The file begins with a `---` line and
/// a later `---` line, which must end with a line break, closes the front matter. If the front
/// matter is missing or empty, the whole file is the template. Comments (such as a licence) and
/// blank lines may come first, as newer versions of the reference allow.
pub(super) fn dotprompt(text: &str) -> Option<FrontMatter> {
    let above = text.split_inclusive('\n');
    let above = above.take_while(|line| line.starts_with('#') || line.trim().is_empty());
    let lead: usize = above.map(str::len).sum();
    let first = text[lead..].split_inclusive('\n').next()?;
    if first.trim_end() != "---" || !first.ends_with('\n') {
        return None;
    }
    let ends = |line: &str| line.trim_end() == "---" && line.ends_with('\n');
    let parts = closed(text, lead + first.len(), ends)?;
    let front = &text[parts.front.start..parts.front.end];
    (!front.trim().is_empty()).then_some(parts)
}

/// Splits a prompty file. The front matter is delimited by `---` or `+++` lines; the closing line
/// may be the last line of the file.
pub(super) fn prompty(text: &str) -> Option<FrontMatter> {
    let lead = text.len() - text.trim_start().len();
    let first = text[lead..].split_inclusive('\n').next()?;
    let fence = first.trim_end();
    if !matches!(fence, "---" | "+++") || !first.ends_with('\n') {
        return None;
    }
    // If the whole file is indented, the closing line is indented too.
    let indented = text[..lead].ends_with([' ', '\t']);
    let ends = |line: &str| {
        if indented {
            line.trim() == fence
        } else {
            line.trim_end() == fence
        }
    };
    closed(text, lead + first.len(), ends)
}

/// Finds the closing line of a front matter that starts at byte `start`.
fn closed(text: &str, start: usize, ends: impl Fn(&str) -> bool) -> Option<FrontMatter> {
    let mut at = start;
    for line in text[start..].split_inclusive('\n') {
        let next = at + line.len();
        if ends(line) {
            return Some(FrontMatter {
                front: Span { start, end: at },
                body: trimmed(text, next),
            });
        }
        at = next;
    }
    None
}

/// Span of the body without surrounding white space.
fn trimmed(text: &str, start: usize) -> Span {
    let body = text.get(start..).unwrap_or_default();
    let lead = body.len() - body.trim_start().len();
    Span {
        start: start + lead,
        // In a blank body both trims overlap, so the end must not be before the start.
        end: start + lead.max(body.trim_end().len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn both(split: fn(&str) -> Option<FrontMatter>, text: &str) -> Option<(&str, &str)> {
        let parts = split(text)?;
        Some((
            &text[parts.front.start..parts.front.end],
            &text[parts.body.start..parts.body.end],
        ))
    }

    #[test]
    fn dotprompt_files_split_as_the_reference_splits_them() {
        let cases = [
            ("---\na: 1\n---\nB", Some(("a: 1\n", "B"))),
            ("---\r\na: 1\r\n---\r\nB", Some(("a: 1\r\n", "B"))),
            ("---  \na: 1\n--- \n\n B \n", Some(("a: 1\n", "B"))),
            ("---\na: 1\n---\n", Some(("a: 1\n", ""))),
            ("---\na: 1\n---", None),
            ("---\na: 1\nB", None),
            ("---\n---\nB", None),
            (
                "---\na: |\n  ---x\nb: 2\n---\nB",
                Some(("a: |\n  ---x\nb: 2\n", "B")),
            ),
            ("# c\n---\na: 1\n---\nB", Some(("a: 1\n", "B"))),
            ("# c\n\n# d\n---\na: 1\n---\nB", Some(("a: 1\n", "B"))),
            ("\n---\na: 1\n---\nB", Some(("a: 1\n", "B"))),
            ("# c\nB\n---\na: 1\n---\nB", None),
            ("# c\n", None),
            (" ---\na: 1\n---\nB", None),
            ("B", None),
            ("", None),
        ];
        for (text, expected) in cases {
            assert_eq!(both(dotprompt, text), expected, "{text:?}");
        }
    }

    #[test]
    fn prompty_files_have_two_fences() {
        let cases = [
            ("---\na: 1\n---\nB", Some(("a: 1\n", "B"))),
            ("+++\na: 1\n+++\nB", Some(("a: 1\n", "B"))),
            ("\n---\na: 1\n---\n\nB\n", Some(("a: 1\n", "B"))),
            ("---\na: 1\n---", Some(("a: 1\n", ""))),
            ("---\n---\nB", Some(("", "B"))),
            (" ---\n a: 1\n ---\n B", Some((" a: 1\n", "B"))),
            (" ---\n a: 1\n---\nB", Some((" a: 1\n", "B"))),
            ("---\na: |\n  ---\n---\nB", Some(("a: |\n  ---\n", "B"))),
            ("---\na: 1\n+++\nB", None),
            ("----\na: 1\n---\nB", None),
            ("B", None),
        ];
        for (text, expected) in cases {
            assert_eq!(both(prompty, text), expected, "{text:?}");
        }
    }
}
