//! Code fences that models put around an answer.

/// Content of a code fence and its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FencedText<'a> {
    /// The text between the fences.
    pub(super) text: &'a str,
    /// Byte offset of the text.
    pub(super) start: usize,
}

/// Finds the first code fence: a line that starts with at least three backticks or tildes, up to a
/// line with at least as many, or the end of the text if the answer was cut off.
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
                // The closing line has at least as many marks and no other text. A shorter fence
                // inside is part of the content.
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

/// Returns the backticks or tildes at the start of a line, if there are at least three and the line
/// is not inline code (```` ```a``` ````).
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
