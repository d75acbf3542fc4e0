//! Compaction of conversations that exceed the model's window.
//!
//! [`Conversation`] holds the messages of a run and counts each of them at most once.
//! [`compact_to_target`] is called before every model call, and usually does nothing. If the
//! conversation exceeds the trigger, three strategies are applied in order until it reaches the
//! target: attachments are cut, the middle is removed, and the remaining texts are cut.
//! `docs/agent/compaction.md` describes each strategy.
//!
//! Invariants: a turn with calls and the results of those calls are retained or removed together,
//! the question is cut last, and every provider accepts the order of messages.

mod attachment;
mod conversation;
mod cut;
mod level;
mod pair_repair;
mod shorten;
mod strategy;
mod summary;
mod units;
mod window;

pub use conversation::Conversation;
pub use summary::{SummaryResult, summarize};
pub use window::{available, target, trigger};

use crate::{AgentError, CompactionReport, RunLimits, Window};
use strategy::Compactor;

/// Whether compaction is needed. Counts exactly only if the upper bound exceeds the trigger.
fn is_over(conversation: &mut Conversation, window: Window, limits: &RunLimits) -> bool {
    let trigger = trigger(window);
    limits.compaction && conversation.tokens() > trigger && conversation.count() > trigger
}

/// Compacts the conversation to the target if it exceeds the trigger. Returns `None` if the
/// conversation does not exceed the trigger, or if `limits.compaction` is off.
///
/// # Errors
/// [`AgentError::Window`] if the conversation does not fit and cannot be cut further.
pub fn compact_to_target(
    conversation: &mut Conversation,
    window: Window,
    limits: &RunLimits,
) -> Result<Option<CompactionReport>, AgentError> {
    if !is_over(conversation, window, limits) {
        return Ok(None);
    }
    let available = available(window);
    let report = Compactor::new(conversation, target(window), available, limits).run();
    // Missing the target is acceptable if the request fits into the window.
    if conversation.tokens() > available {
        return Err(conversation.does_not_fit(available));
    }
    Ok(Some(report).filter(|report| !report.strategies.is_empty()))
}

/// Compacts the conversation to a target regardless of the trigger. Used if a provider rejects a
/// conversation as too long although it fits according to the token counter. A good target is three
/// quarters of [`Conversation::count`].
///
/// # Errors
/// [`AgentError::Window`] if the conversation cannot be cut at all.
pub fn fit_within(
    conversation: &mut Conversation,
    target: u64,
    limits: &RunLimits,
) -> Result<CompactionReport, AgentError> {
    // Exact counts are needed: with upper bounds the compactor would cut too much.
    conversation.count();
    let report = Compactor::new(conversation, target, target, limits).run();
    if report.strategies.is_empty() {
        return Err(conversation.does_not_fit(target));
    }
    Ok(report)
}
