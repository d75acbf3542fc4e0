//! The fence of code that models like to put around what they were asked for.

/// What is in a fence, and where that begins in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FencedText<'a> {
    /// The text between the fences.
    pub(super) text: &'a str,
    /// Its first byte.
    pub(super) start: usize,
}

/// The first block of code in the text: a line that begins with three or more back ticks
/// or tildes and any words, until a line of as many or the end of the text. One that was
/// cut has no end.
pub(super) fn find(text: &str) -> Option<FencedText<'_>> {
    let mut open: Option<(&str, usize)> = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let next = at + line.len();
        let trimmed = line.trim();
        match open {
            None => {
                if let Some(mark) = mark(trimmed) {
                    open = Some((mark, next));
                }
            }
            Some((mark, start)) => {
                // As many marks or more and nothing else: a shorter fence inside belongs to the
                // text.
                let closes = trimmed.starts_with(mark)
                    && trimmed.trim_matches(mark.chars().next()?).is_empty();
                if closes {
                    return Some(FencedText {
                        text: text.get(start..at)?,
                        start,
                    });
                }
            }
        }
        at = next;
    }
    let (_, start) = open?;
    Some(FencedText {
        text: text.get(start..)?,
        start,
    })
}

/// The back ticks or tildes that a line begins with, if they are three or more and the line
/// is no code in a line (```` ```a``` ````).
fn mark(line: &str) -> Option<&str> {
    let first = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let length = line.bytes().take_while(|byte| *byte == first as u8).count();
    let (mark, info) = line.split_at_checked(length)?;
    (length >= 3 && !info.contains('`')).then_some(mark)
}

#[cfg(test)]
mod tests {
    use super::find;

    #[test]
    fn one_fence_is_found_whatever_stands_around_it() {
        for (text, expected) in [
            ("```json\n{}\n```", Some("{}\n")),
            ("Sure!\n\n```\n1\n```\nBye", Some("1\n")),
            ("~~~yaml title=x\na: 1\n~~~", Some("a: 1\n")),
            ("````\n```\n````", Some("```\n")),
            ("```json\n{\"a\":", Some("{\"a\":")),
            ("  ```js\n  2\n  ```  ", Some("  2\n")),
            ("a ```code``` b", None),
            ("```code``` b", None),
            ("``\n1\n``", None),
            ("", None),
        ] {
            assert_eq!(find(text).map(|found| found.text), expected, "{text:?}");
        }
    }
}
