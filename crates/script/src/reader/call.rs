//! Parses calls in text form: `$name(arguments)` and `-> a -> $b(…)`.

use quillet_yaml::YamlProblem;

use super::located_scalar::LocatedScalar;
use crate::syntax::{CallExpr, CallTarget};

/// Parses a call without value and fields: `$name`, `$name(…)`, `$|name`, `$|name(…)`, also with
/// full-width brackets. Returns `None` for any other text.
pub(crate) fn call(text: LocatedScalar<'_>) -> Option<CallExpr> {
    let rest = text.text.strip_prefix('$')?;
    let piped = rest.starts_with('|');
    let begin = if piped { 2 } else { 1 };
    let (name, arguments) = shape(text.text, begin)?;
    if !is_name(text.text.get(begin..name)?) {
        return None;
    }
    Some(CallExpr {
        span: text.whole,
        piped,
        arguments: arguments.map(|(start, end)| text.cut(start, end).to_text()),
        ..bare(
            CallTarget::of(text.text.get(begin..name)?),
            text.cut(begin, name),
        )
    })
}

/// Creates a call that has only a name.
pub(crate) fn bare(target: CallTarget, name: LocatedScalar<'_>) -> CallExpr {
    CallExpr {
        span: name.whole,
        target,
        name: name.to_text(),
        piped: false,
        arguments: None,
        value: None,
        fields: Vec::new(),
        branches: Vec::new(),
    }
}

/// Returns the end of the name and the byte range in the parentheses. `None` if text follows them,
/// because that is not a call.
fn shape(text: &str, begin: usize) -> Option<(usize, Option<(usize, usize)>)> {
    let after = text.get(begin..)?;
    let Some(open) = after.find(['(', '（']).map(|at| begin + at) else {
        return Some((text.len(), None));
    };
    let width = text.get(open..)?.chars().next()?.len_utf8();
    let close = match group(text, open) {
        Some(end) if end == text.len() => end,
        Some(_) => return None,
        // An unmatched quote in the arguments is an apostrophe.
        None if text.ends_with([')', '）']) => text.len(),
        None => return None,
    };
    let last = text.get(..close)?.chars().next_back()?.len_utf8();
    Some((open, Some((open + width, close - last))))
}

/// Returns whether a text is the name of a directive or function, or a path: `path.basename`,
/// `char-dobby`.
fn is_name(name: &str) -> bool {
    let begins = |first: char| first.is_alphabetic() || first == '_';
    let goes_on = |char: char| char.is_alphanumeric() || "_.-:$".contains(char);
    name.starts_with(begins) && name.chars().all(goes_on) && !name.ends_with(['.', '-', ':'])
}

/// Returns the offset after the bracket that closes the one at `open`, ignoring brackets in quotes.
pub(crate) fn group(text: &str, open: usize) -> Option<usize> {
    let mut depth = 0_usize;
    let mut quote = None;
    let mut escaped = false;
    let mut before = ' ';
    for (at, char) in text.get(open..)?.char_indices() {
        if let Some(end) = quote {
            if !escaped && char == end {
                quote = None;
            }
            escaped = char == '\\' && !escaped;
            continue;
        }
        match char {
            '(' | '[' | '{' | '（' => depth += 1,
            ')' | ']' | '}' | '）' => depth = depth.checked_sub(1)?,
            // A quote after a letter is an apostrophe.
            '"' | '\'' | '`' if !before.is_alphanumeric() => quote = Some(char),
            _ => {}
        }
        if depth == 0 {
            return Some(open + at + char.len_utf8());
        }
        before = char;
    }
    None
}

/// Parses the calls in `-> a -> b(…)`.
pub(crate) fn chain(text: LocatedScalar<'_>) -> Result<Vec<CallExpr>, YamlProblem> {
    let mut links = Vec::new();
    let mut begin = 2;
    while let Some(end) = link_end(text.text, begin) {
        links.push(link(text.cut(begin, end))?);
        begin = end + 2;
    }
    links.push(link(text.cut(begin, text.text.len()))?);
    Ok(links)
}

/// Returns the offset of the next `->` outside of brackets.
fn link_end(text: &str, begin: usize) -> Option<usize> {
    let mut at = begin;
    while let Some(rest) = text.get(at..) {
        let next = at + rest.find(['(', '（', '-'])?;
        let rest = text.get(next..).unwrap_or_default();
        if rest.starts_with("->") {
            return Some(next);
        }
        at = if rest.starts_with('-') {
            next + 1
        } else {
            // An unclosed bracket extends to the end, so an arrow in it does not start another
            // call.
            group(text, next).unwrap_or(text.len())
        };
    }
    None
}

fn link(text: LocatedScalar<'_>) -> Result<CallExpr, YamlProblem> {
    let wrong = |message: &str| {
        YamlProblem::new(text.whole, message)
            .help("write a chain as `-> script(name=value) -> $directive`")
    };
    if text.text.is_empty() {
        return Err(wrong("missing name of a link in the chain"));
    }
    if text.text.starts_with('$') {
        let call = call(text).ok_or_else(|| wrong("invalid link in the chain: expected a call"))?;
        return Ok(CallExpr {
            piped: true,
            ..call
        });
    }
    let (name, arguments) =
        shape(text.text, 0).ok_or_else(|| wrong("invalid link in the chain: expected a call"))?;
    let name = text.cut(0, name);
    if name.text.is_empty() || name.text.contains(char::is_whitespace) {
        return Err(wrong("the name of a script cannot contain spaces"));
    }
    Ok(CallExpr {
        span: text.whole,
        piped: true,
        arguments: arguments.map(|(start, end)| text.cut(start, end).to_text()),
        ..bare(CallTarget::Script, name)
    })
}

/// Returns a line without its comment. A `#` in brackets or quotes does not start one.
pub(crate) fn uncommented(row: &str) -> &str {
    let mut at = 0;
    while let Some(next) = row.get(at..).and_then(|rest| rest.find(['(', '（', '#'])) {
        let next = at + next;
        let rest = row.get(next..).unwrap_or_default();
        let before = row.get(..next).unwrap_or_default();
        if rest.starts_with('#') && before.ends_with([' ', '\t']) {
            return before.trim_end();
        }
        at = if rest.starts_with('#') {
            next + 1
        } else {
            // An unclosed bracket extends to the end, so a `#` in it does not start a comment.
            group(row, next).unwrap_or(row.len())
        };
    }
    row.trim_end()
}
