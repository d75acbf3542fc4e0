//! Parses JSON in a model's answer.

use quillet_core::{Value, json};

use super::fence;
use super::parse_error::AnswerParseError;

/// Parses the whole answer, else the content of its code fence, else the text from the first
/// opening bracket to the last matching one.
pub(super) fn read(text: &str) -> Result<Value, AnswerParseError> {
    let whole = text.trim();
    // The whole answer is tried first, because a JSON string may contain a fence or brackets.
    if let Ok(value) = json::parse(whole) {
        return Ok(value);
    }
    let fenced = fence::find(text);
    // A fence shows which text the model meant, so its error is reported and brackets are not
    // searched.
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
            // Only the first line of the extracted text may start in the middle of a line of the
            // answer.
            0 | 1 => before.len() - line_start,
            _ => 0,
        };
        let message = error.to_string();
        // The parser's position is relative to the extracted text, so it is removed. The position
        // below is relative to the whole answer.
        let message = message.split(" at line ").next().unwrap_or(&message);
        AnswerParseError::new(format!("invalid JSON: {message}"))
            .with_position(lines + error.line().max(1), in_line + error.column().max(1))
    })
}
