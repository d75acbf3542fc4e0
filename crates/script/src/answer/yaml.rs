//! Parses YAML in a model's answer.

use quillet_core::{Diagnostic, Value};

use super::fence;
use super::parse_error::AnswerParseError;

/// Parses the content of the answer's code fence, or else the whole answer.
pub(super) fn read(text: &str) -> Result<Value, AnswerParseError> {
    let fenced = fence::find(text);
    let (start, piece) = fenced.map_or((0, text), |fenced| (fenced.start, fenced.text));
    // An empty YAML document is null, which would hide an empty answer.
    if piece.trim().is_empty() {
        return Err(AnswerParseError::new("it is empty").with_position(1, 1));
    }
    let lines = text.get(..start).unwrap_or_default().matches('\n').count();
    quillet_yaml::parse_value(piece).map_err(|findings| unreadable(&findings, lines))
}

fn unreadable(findings: &[Diagnostic], lines: usize) -> AnswerParseError {
    let Some(first) = findings.first() else {
        return AnswerParseError::new("invalid YAML");
    };
    let problem = AnswerParseError::new(format!("invalid YAML: {}", first.message));
    match first.position {
        Some(at) => problem.with_position(lines + at.line, at.column),
        None => problem,
    }
}
