//! JSON in a model's answer.

use quillet_core::{Value, json};

use super::fence;
use super::parse_error::AnswerParseError;

/// Reads the answer as it is, else what is in its fence, else what stands from the first
/// bracket to the last one of its kind.
pub(super) fn read(text: &str) -> Result<Value, AnswerParseError> {
    let whole = text.trim();
    // As it is first: a string in the JSON may contain a fence or brackets.
    if let Ok(value) = json::parse(whole) {
        return Ok(value);
    }
    let fenced = fence::find(text);
    // A fence shows what the model meant, so its error is reported and no bracket is searched.
    if let Some(fenced) = fenced {
        return parse(text, fenced.start, fenced.text);
    }
    if let Some((start, piece)) = bracketed(text) {
        return parse(text, start, piece);
    }
    parse(text, 0, text)
}

fn bracketed(text: &str) -> Option<(usize, &str)> {
    let start = text.find(['{', '['])?;
    let close = if text.get(start..)?.starts_with('{') {
        '}'
    } else {
        ']'
    };
    let end = text.rfind(close).filter(|end| *end > start);
    Some((start, text.get(start..=end.unwrap_or(text.len() - 1))?))
}

fn parse(text: &str, start: usize, piece: &str) -> Result<Value, AnswerParseError> {
    json::parse(piece).map_err(|error| {
        let before = text.get(..start).unwrap_or_default();
        let lines = before.matches('\n').count();
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let in_line = match error.line() {
            // Only the first line of a piece can begin in the middle of a line.
            0 | 1 => before.len() - line_start,
            _ => 0,
        };
        let message = error.to_string();
        // The parser counts from the piece; the position below counts from the whole answer.
        let message = message.split(" at line ").next().unwrap_or(&message);
        AnswerParseError::new(format!("invalid JSON: {message}"))
            .with_position(lines + error.line().max(1), in_line + error.column().max(1))
    })
}
