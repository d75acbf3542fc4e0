//! The model's answer, while it is streamed and when it is complete.

use quillet_core::ToolCall;
use quillet_core::chat::{FinishReason, Reply};

/// Turn that is being streamed.
#[derive(Default)]
pub(crate) struct PartialTurn {
    /// Text so far.
    pub(crate) text: String,
    /// Reasoning so far.
    pub(crate) reasoning: String,
    /// Whether the text is a refusal.
    pub(crate) refused: bool,
    /// The remaining state.
    pub(crate) rest: Reply,
}

/// Turn that is complete.
pub(crate) struct CompletedTurn {
    /// Finish reason.
    pub(crate) reason: FinishReason,
    /// Tool calls of the model.
    pub(crate) calls: Vec<ToolCall>,
    /// Whether its last call was truncated by the limit on output tokens.
    pub(crate) cut_call: bool,
}

impl CompletedTurn {
    /// Turn with this finish reason and these calls.
    pub(crate) fn new(reason: FinishReason, calls: Vec<ToolCall>) -> Self {
        // Output is cut at its end, so only the last call of a turn can be incomplete.
        let cut_call = reason == FinishReason::Length && calls.last().is_some_and(is_cut);
        CompletedTurn {
            reason,
            calls,
            cut_call,
        }
    }
}

/// Whether a call is truncated, given that its turn was truncated right after it. Empty arguments
/// usually mean "no arguments", but here they mean that the text was cut before it began.
fn is_cut(call: &ToolCall) -> bool {
    call.arguments.trim().is_empty() || call.arguments_object().is_none()
}
