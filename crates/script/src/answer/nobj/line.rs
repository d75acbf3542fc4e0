//! Lines of NObj: indentation, and text without bullets and other decoration.

use super::super::parse_error::AnswerParseError;

/// A line with content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NobjLine<'a> {
    /// Line number in the answer, from 1.
    pub(super) number: usize,
    /// Column of its text or its bullet, from 0.
    pub(super) indent: usize,
    /// Whether it starts with a bullet or a number.
    pub(super) bullet: bool,
    /// The text after the bullet.
    pub(super) text: &'a str,
    /// The multi-line text between `"""` that starts on this line.
    pub(super) block: Option<String>,
}

const BLOCK: &str = "\"\"\"";

/// Returns all lines with content. `before` is the number of lines before this text in the answer.
pub(super) fn lines(text: &str, before: usize) -> Result<Vec<NobjLine<'_>>, AnswerParseError> {
    let mut found = Vec::new();
    let mut rest = text.lines().enumerate();
    while let Some((at, raw)) = rest.next() {
        let trimmed = raw.trim();
        // Models write rules (`---`) between sections; such a line is not a field.
        if trimmed.is_empty() || is_rule(trimmed) {
            continue;
        }
        let (bullet, said) = without_bullet(trimmed);
        let mut line = NobjLine {
            number: before + at + 1,
            indent: columns(raw),
            bullet,
            text: said,
            block: None,
        };
        if let Some((head, opened)) = said.split_once(BLOCK) {
            let (block, closed) = block(opened, &mut rest);
            if !closed {
                // An unclosed text would include all later fields, so it is an error.
                let message = "unclosed string: the closing `\"\"\"` is missing";
                return Err(
                    AnswerParseError::new(message).with_position(line.number, line.indent + 1)
                );
            }
            line.text = head.trim_end();
            line.block = Some(block);
        }
        found.push(line);
    }
    Ok(found)
}

/// Returns the text up to the closing quotes, without the common indentation of its lines.
fn block<'a>(opened: &str, rest: &mut impl Iterator<Item = (usize, &'a str)>) -> (String, bool) {
    if let Some((inside, _)) = opened.split_once(BLOCK) {
        return (inside.trim().to_owned(), true);
    }
    let mut lines = Vec::new();
    if !opened.trim().is_empty() {
        lines.push(opened.trim_start());
    }
    for (_, line) in rest {
        if let Some((last, _)) = line.split_once(BLOCK) {
            if !last.trim().is_empty() {
                lines.push(last.trim_end());
            }
            return (dedent(&lines), true);
        }
        lines.push(line);
    }
    (String::new(), false)
}

fn dedent(lines: &[&str]) -> String {
    // Blank lines do not count, because their zero indentation would prevent removing any.
    let full = lines.iter().filter(|line| !line.trim().is_empty());
    let common = full.map(|line| line.len() - line.trim_start().len()).min();
    let cut = |line: &&str| {
        line.get(common.unwrap_or(0)..)
            .unwrap_or_default()
            .to_owned()
    };
    lines.iter().map(cut).collect::<Vec<_>>().join("\n")
}

fn columns(line: &str) -> usize {
    let blanks = line.chars().take_while(|c| c.is_whitespace());
    blanks.map(|c| if c == '\t' { 4 } else { 1 }).sum()
}

/// Returns whether a line is a rule or an empty heading: `---`, `***`.
fn is_rule(line: &str) -> bool {
    line.len() >= 3 && line.chars().all(|c| matches!(c, '-' | '*' | '_' | '='))
}

/// Returns the text after `- `, `* `, `+ `, `1. `, `2) ` or `# `, and whether there was such a
/// mark.
fn without_bullet(line: &str) -> (bool, &str) {
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let marks = if digits > 0 {
        let rest = line.get(digits..).unwrap_or_default();
        rest.strip_prefix(['.', ')', '、'])
    } else {
        let hashes = line.trim_start_matches('#');
        if hashes.len() < line.len() {
            Some(hashes)
        } else {
            line.strip_prefix(['-', '*', '+', '•'])
        }
    };
    match marks {
        // A bullet needs white space after it, because `-5`, `3.14` and `**name**` are values and
        // names.
        Some(rest) if rest.starts_with(char::is_whitespace) => (true, rest.trim()),
        _ => (false, line),
    }
}
