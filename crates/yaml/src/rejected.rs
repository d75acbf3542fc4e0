//! What the parser refuses, in words for people who did not learn YAML's rules.

use granit_parser::{ErrorKind, ScanError};
use quillet_core::Span;

use crate::mapped_text::MappedText;
use crate::reader::YamlProblem;

/// An error of the parser with its place, and what to do about it.
pub(crate) fn explain(error: &ScanError, piece: &MappedText<'_>) -> YamlProblem {
    let text = piece.text();
    let at = error.marker().byte_offset().unwrap_or(text.len());
    let at = floor(text, at);
    let place = piece.span(at, at);
    let problem = match error.kind() {
        ErrorKind::UnexpectedCharacter { character } => {
            YamlProblem::new(place, format!("a text cannot begin with `{character}`"))
                .help("put the text in quotes")
        }
        ErrorKind::UnclosedQuotedScalar => {
            YamlProblem::new(place, "the quote that opens here is never closed")
        }
        ErrorKind::RecursionLimitExceeded => return YamlProblem::new(place, "nested too deeply"),
        ErrorKind::ExpectedDocumentStart if text.starts_with('%') => {
            YamlProblem::new(piece.span(0, 1), "a text cannot begin with `%`")
                .help("put the text in quotes")
        }
        kind => {
            let message = format!("not YAML: {}", error.info());
            let problem = YamlProblem::new(place, message);
            match general(kind) {
                Some(help) => problem.help(help),
                None => problem,
            }
        }
    };
    if let Some((open, start)) = unquoted(text, at) {
        return needs_quotes(open, piece.place(start));
    }
    problem
}

/// A replacement that YAML takes for a list or an object.
pub(crate) fn needs_quotes(open: &str, start: usize) -> YamlProblem {
    let end = start + open.len();
    YamlProblem::new(
        Span { start, end },
        format!("a text that begins with `{open}` needs quotes"),
    )
    .help(format!(
        "write \"{open}…\", or '{open}…' if it holds double quotes"
    ))
}

fn general(kind: &ErrorKind) -> Option<&'static str> {
    match kind {
        ErrorKind::MappingValueNotAllowed | ErrorKind::InvalidColonPlacement => {
            Some("put a text that holds `: ` in quotes")
        }
        ErrorKind::TabNotAllowed
        | ErrorKind::TabInBlockIndentation
        | ErrorKind::TabInIndentation
        | ErrorKind::TabAtBlockScalarStart => Some("indent with spaces, not with tabs"),
        ErrorKind::SimpleKeyExpected | ErrorKind::InvalidSimpleKey => {
            Some("every line of a mapping is `key: value`; indent a text that goes on")
        }
        ErrorKind::InvalidTrailingDoubleQuotedScalar
        | ErrorKind::InvalidTrailingSingleQuotedScalar => {
            Some("put the whole text in quotes, not a part of it")
        }
        ErrorKind::UnclosedFlowCollection { .. } => {
            Some("close it, or put a text that begins with a bracket in quotes")
        }
        ErrorKind::MisplacedFlowCollectionEnd | ErrorKind::BlockSequenceEntryNotAllowed => {
            Some("put a text that begins with this in quotes")
        }
        ErrorKind::InvalidBlockScalarHeader => {
            Some("put a text that begins with `|` or `>` in quotes")
        }
        ErrorKind::InvalidQuotedScalarIndent => {
            Some("indent the lines of a quoted text deeper than its key")
        }
        ErrorKind::UnknownQuotedScalarEscape => {
            Some("write `\\\\` for a backslash, or take single quotes")
        }
        _ => None,
    }
}

/// The brackets of a replacement that opens the value on a line, where YAML
/// takes them for a list or an object: `user: [[@file(x)]]`, `user: {{name}}`.
fn unquoted(text: &str, at: usize) -> Option<(&'static str, usize)> {
    let line = text.get(..at)?.rfind('\n').map_or(0, |newline| newline + 1);
    let rest = text.get(line..)?;
    let rest = rest.get(..rest.find('\n').unwrap_or(rest.len()))?;
    let value = match rest.find(": ") {
        Some(colon) => line + colon + 2,
        None => line + rest.len() - rest.trim_start_matches(['-', ' ']).len(),
    };
    let written = text.get(value..)?;
    let start = value + written.len() - written.trim_start_matches(' ').len();
    let written = text.get(start..)?;
    ["[[", "{{", "{%"]
        .into_iter()
        .find(|open| written.starts_with(open))
        .map(|open| (open, start))
}

fn floor(text: &str, byte: usize) -> usize {
    let mut byte = byte.min(text.len());
    while !text.is_char_boundary(byte) {
        byte -= 1;
    }
    byte
}
