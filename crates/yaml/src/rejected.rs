//! Explains parser errors to users who do not know YAML's rules.

use granit_parser::{ErrorKind, ScanError};
use quillet_core::Span;

use crate::mapped_text::MappedText;
use crate::problem::YamlProblem;

/// Converts an error of the parser, with its location and a fix.
pub(crate) fn explain(error: &ScanError, piece: &MappedText<'_>) -> YamlProblem {
    let text = piece.text();
    let at = error.marker().byte_offset().unwrap_or(text.len());
    let at = floor(text, at);
    let place = piece.span(at, at);
    let problem = match error.kind() {
        ErrorKind::UnexpectedCharacter { character } => YamlProblem::new(
            place,
            format!("a string without quotes cannot begin with `{character}`"),
        )
        .help("quote the string"),
        ErrorKind::UnclosedQuotedScalar => YamlProblem::new(place, "unclosed quote"),
        ErrorKind::RecursionLimitExceeded => return YamlProblem::new(place, "nested too deeply"),
        ErrorKind::ExpectedDocumentStart if text.starts_with('%') => YamlProblem::new(
            piece.span(0, 1),
            "a string without quotes cannot begin with `%`",
        )
        .help("quote the string"),
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

/// Reports a placeholder that YAML parses as a list or an object.
pub(crate) fn needs_quotes(open: &str, start: usize) -> YamlProblem {
    let end = start + open.len();
    YamlProblem::new(
        Span { start, end },
        format!("a string that begins with `{open}` needs quotes"),
    )
    .help(format!(
        "write \"{open}…\", or '{open}…' if it contains double quotes"
    ))
}

fn general(kind: &ErrorKind) -> Option<&'static str> {
    match kind {
        ErrorKind::MappingValueNotAllowed | ErrorKind::InvalidColonPlacement => {
            Some("quote a string that contains `: `")
        }
        ErrorKind::TabNotAllowed
        | ErrorKind::TabInBlockIndentation
        | ErrorKind::TabInIndentation
        | ErrorKind::TabAtBlockScalarStart => Some("indent with spaces, not with tabs"),
        ErrorKind::SimpleKeyExpected | ErrorKind::InvalidSimpleKey => {
            Some("every line of a mapping is `key: value`; indent continued text")
        }
        ErrorKind::InvalidTrailingDoubleQuotedScalar
        | ErrorKind::InvalidTrailingSingleQuotedScalar => {
            Some("quote the entire string, not only part of it")
        }
        ErrorKind::UnclosedFlowCollection { .. } => {
            Some("close it, or quote a string that begins with a bracket")
        }
        ErrorKind::MisplacedFlowCollectionEnd | ErrorKind::BlockSequenceEntryNotAllowed => {
            Some("quote a string that begins with this")
        }
        ErrorKind::InvalidBlockScalarHeader => Some("quote a string that begins with `|` or `>`"),
        ErrorKind::InvalidQuotedScalarIndent => {
            Some("indent the lines of a quoted string more than its key")
        }
        ErrorKind::UnknownQuotedScalarEscape => {
            Some("write `\\\\` for a backslash, or use single quotes")
        }
        _ => None,
    }
}

/// Returns the brackets of a placeholder that begins the value on a line, where YAML parses them as
/// a list or an object: `user: [[@file(x)]]`, `user: {{name}}`.
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
