//! The model's answer, both while it is streamed and when it is complete.

use quillet_core::ToolCall;
use quillet_core::chat::{FinishReason, Reply};

/// A turn that is being streamed.
#[derive(Default)]
pub(crate) struct PartialTurn {
    /// Text so far.
    pub(crate) text: String,
    /// Reasoning so far.
    pub(crate) reasoning: String,
    /// Whether the text is a refusal.
    pub(crate) refused: bool,
    /// Other parts of the answer.
    pub(crate) rest: Reply,
}

/// A complete turn.
pub(crate) struct CompletedTurn {
    /// Finish reason.
    pub(crate) reason: FinishReason,
    /// Tool calls of the model.
    pub(crate) calls: Vec<ToolCall>,
    /// Whether its last call was truncated by the limit on output tokens.
    pub(crate) cut_call: bool,
}

impl CompletedTurn {
    /// Creates a turn from its finish reason and its calls.
    pub(crate) fn new(reason: FinishReason, calls: Vec<ToolCall>) -> Self {
        // Output is truncated at its end, so only the last call of a turn can be incomplete.
        let cut_call = reason == FinishReason::Length && calls.last().is_some_and(is_cut);
        CompletedTurn {
            reason,
            calls,
            cut_call,
        }
    }
}

/// Whether the last call of a truncated turn is incomplete. Empty arguments usually mean that there
/// are none, but here they mean that the output ended before them.
fn is_cut(call: &ToolCall) -> bool {
    call.arguments.trim().is_empty() || call.arguments_object().is_none()
}
