//! Errors of calls, with a text for the model and the client, and a code for traces.

use std::time::Duration;

use quillet_core::tool::ToolErrorKind;
use quillet_core::{ErrorCode, ToolCall};

/// Error of a call that has no result.
pub(crate) struct CallFailure {
    /// Stable code, for traces.
    pub(crate) code: ErrorCode,
    /// Text for the model and the client.
    pub(crate) text: String,
}

impl CallFailure {
    /// The tool does not exist.
    pub(crate) fn unknown(text: String) -> Self {
        let code = ToolErrorKind::Unknown.code();
        CallFailure { code, text }
    }

    /// The arguments do not match the schema.
    pub(crate) fn arguments(text: String) -> Self {
        let code = ToolErrorKind::Arguments.code();
        CallFailure { code, text }
    }

    /// The arguments are not a JSON object.
    pub(crate) fn unreadable(error: &serde_json::Error) -> Self {
        CallFailure::arguments(format!(
            "The call was not made: its arguments are not a valid JSON object: {error}."
        ))
    }

    /// The call was truncated by the limit on output tokens.
    pub(crate) fn cut(call: &ToolCall) -> Self {
        let bytes = call.arguments.len();
        CallFailure::arguments(format!(
            "The call was cut by the limit on output tokens after {bytes} bytes of its arguments, \
             and was not made. Make it again with shorter arguments, or in several calls."
        ))
    }

    /// The turn exceeds the limit on calls.
    pub(crate) fn too_many(limit: usize) -> Self {
        let text = format!(
            "The call was not made: a turn may make {limit} calls, and this one makes more."
        );
        let code = ErrorCode::ToolTooMany;
        CallFailure { code, text }
    }

    /// The same call was repeated too often.
    pub(crate) fn repeated(times: u32) -> Self {
        let text = format!(
            "The call was not made: the same call with the same arguments was made {times} times \
             in a row. Use the result that is there, try other arguments, or answer."
        );
        let code = ErrorCode::ToolRepeated;
        CallFailure { code, text }
    }

    /// The approver denied the call.
    pub(crate) fn denied(text: String) -> Self {
        let code = ToolErrorKind::Refused.code();
        CallFailure { code, text }
    }

    /// The call exceeded its timeout.
    pub(crate) fn time(limit: Duration) -> Self {
        let text = format!(
            "The call took longer than the limit on call_time ({limit:?}) and was stopped."
        );
        let code = ToolErrorKind::Timeout.code();
        CallFailure { code, text }
    }
}
