//! The common error type of all answer formats.

use quillet_core::LineColumn;

/// Error for an answer that does not have the requested form.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}{}", position_suffix(*.position))]
pub struct AnswerParseError {
    /// The problem, without a location.
    pub message: String,
    /// Line and column in the answer, if known.
    pub position: Option<LineColumn>,
}

fn position_suffix(position: Option<LineColumn>) -> String {
    position.map_or(String::new(), |at| {
        format!(" at line {} column {} of the answer", at.line, at.column)
    })
}

impl AnswerParseError {
    pub(super) fn new(message: impl Into<String>) -> Self {
        AnswerParseError {
            message: message.into(),
            position: None,
        }
    }

    pub(super) fn with_position(mut self, line: usize, column: usize) -> Self {
        self.position = Some(LineColumn { line, column });
        self
    }
}
