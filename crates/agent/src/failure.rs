//! Why a call has no result: what the model and the client read, and the code for traces.

use std::time::Duration;

use quillet_core::tool::ToolErrorKind;
use quillet_core::{ErrorCode, ToolCall};

/// Why a call has no result.
pub(crate) struct CallFailure {
    /// Stable code, for traces.
    pub(crate) code: ErrorCode,
    /// For the model and the client.
    pub(crate) text: String,
}

impl CallFailure {
    /// There is no such tool.
    pub(crate) fn unknown(text: String) -> Self {
        let code = ToolErrorKind::Unknown.code();
        CallFailure { code, text }
    }

    /// The arguments do not fit.
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

    /// The limit on tokens cut the call.
    pub(crate) fn cut(call: &ToolCall) -> Self {
        let bytes = call.arguments.len();
        CallFailure::arguments(format!(
            "The call was cut by the limit on output tokens after {bytes} bytes of its arguments, \
             and was not made. Make it again with shorter arguments, or in several calls."
        ))
    }

    /// The turn makes more calls than it may.
    pub(crate) fn too_many(limit: usize) -> Self {
        let text = format!(
            "The call was not made: a turn may make {limit} calls, and this one makes more."
        );
        let code = ErrorCode::ToolTooMany;
        CallFailure { code, text }
    }

    /// The same call was made too often in a row.
    pub(crate) fn repeated(times: u32) -> Self {
        let text = format!(
            "The call was not made: the same call with the same arguments was made {times} times \
             in a row. Use the result that is there, try other arguments, or answer."
        );
        let code = ErrorCode::ToolRepeated;
        CallFailure { code, text }
    }

    /// Somebody who was asked does not want it made.
    pub(crate) fn denied(text: String) -> Self {
        let code = ToolErrorKind::Refused.code();
        CallFailure { code, text }
    }

    /// It took too long.
    pub(crate) fn time(limit: Duration) -> Self {
        let text = format!(
            "The call took longer than the limit on call_time ({limit:?}) and was stopped."
        );
        let code = ToolErrorKind::Timeout.code();
        CallFailure { code, text }
    }
}
