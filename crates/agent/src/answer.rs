//! The model's answer: while it is streamed, and when it is whole.

use quillet_core::ToolCall;
use quillet_core::chat::{FinishReason, Reply};

/// A turn on its way.
#[derive(Default)]
pub(crate) struct PartialTurn {
    /// What was said.
    pub(crate) text: String,
    /// What was thought.
    pub(crate) reasoning: String,
    /// Whether what was said is a refusal.
    pub(crate) refused: bool,
    /// Everything else.
    pub(crate) rest: Reply,
}

/// A turn that has come to its end.
pub(crate) struct CompletedTurn {
    /// Why it ended.
    pub(crate) reason: FinishReason,
    /// What the model wants called.
    pub(crate) calls: Vec<ToolCall>,
    /// Whether its last call was cut by the limit on tokens.
    pub(crate) cut_call: bool,
}

impl CompletedTurn {
    /// A turn that ended for this reason, with these calls.
    pub(crate) fn new(reason: FinishReason, calls: Vec<ToolCall>) -> Self {
        let cut_call = reason == FinishReason::Length && calls.last().is_some_and(is_cut);
        CompletedTurn {
            reason,
            calls,
            cut_call,
        }
    }
}

/// Whether a call is cut, given that its turn was cut right after it. No text at all
/// usually means no arguments, but not here.
fn is_cut(call: &ToolCall) -> bool {
    call.arguments.trim().is_empty() || call.arguments_object().is_none()
}
