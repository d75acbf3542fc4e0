//! Lines of NObj: how far in they stand, and what is in them without dress.

use super::super::parse_error::AnswerParseError;

/// A line that says something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NobjLine<'a> {
    /// Its number in the answer, from 1.
    pub(super) number: usize,
    /// Columns before its text or its bullet.
    pub(super) indent: usize,
    /// Whether it has a bullet or a number.
    pub(super) bullet: bool,
    /// The text behind the bullet.
    pub(super) text: &'a str,
    /// The block between `"""` that it begins.
    pub(super) block: Option<String>,
}

const BLOCK: &str = "\"\"\"";

/// All lines that say something; `before` is how many stand before them in the answer.
pub(super) fn lines(text: &str, before: usize) -> Result<Vec<NobjLine<'_>>, AnswerParseError> {
    let mut found = Vec::new();
    let mut rest = text.lines().enumerate();
    while let Some((at, raw)) = rest.next() {
        let trimmed = raw.trim();
        // Models put rules between sections; such a line is no field.
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
                // The open text would swallow every later field, so this is an error and not a
                // guess.
                let message = "unclosed text: `\"\"\"` is missing at its end";
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

/// The text up to the closing marks, without the blanks that all its lines begin with.
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
    // Blank lines do not count: their indentation of zero would keep all the others.
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

/// A rule or a heading's mark that says nothing: `---`, `***`.
fn is_rule(line: &str) -> bool {
    line.len() >= 3 && line.chars().all(|c| matches!(c, '-' | '*' | '_' | '='))
}

/// The text behind `- `, `* `, `+ `, `1. `, `2) ` or `# `.
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
        // Without the blank it is no bullet: `-5`, `3.14` and `**name**` are values and names.
        Some(rest) if rest.starts_with(char::is_whitespace) => (true, rest.trim()),
        _ => (false, line),
    }
}
