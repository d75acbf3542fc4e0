//! Compaction: cutting a conversation so that it fits into the model's window.
//!
//! [`Conversation`] holds the messages of a run and counts each of them at most once. [`fit`] is
//! called before every call of the model and mostly does nothing; where the conversation is over
//! the trigger, three strategies are applied one after the other until it is at the target:
//! attachments are cut, the middle is left out, then what is left is cut token by token.
//! `docs/agent/compaction.md` describes each.
//!
//! Invariants: a turn with calls and the results of those calls are kept or removed together, the
//! question is cut last, and the order of messages is accepted by every provider.

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

/// Whether compaction is needed. Counts exactly only if the upper bound is over the trigger.
fn is_over(conversation: &mut Conversation, window: Window, limits: &RunLimits) -> bool {
    let trigger = trigger(window);
    limits.compaction && conversation.tokens() > trigger && conversation.count() > trigger
}

/// Cuts the conversation down to the target if it is over the trigger. `None` if
/// there was nothing to do, or if `limits.compaction` is off.
///
/// # Errors
/// [`AgentError::Window`] if it does not fit and nothing more can be cut.
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
    // Missing the target is acceptable as long as the request fits into the window.
    if conversation.tokens() > available {
        return Err(conversation.does_not_fit(available));
    }
    Ok(Some(report).filter(|report| !report.strategies.is_empty()))
}

/// Cuts the conversation down to a target regardless of the trigger: for a provider that rejects it
/// as too long although our count fits. A good target is three quarters of [`Conversation::count`].
///
/// # Errors
/// [`AgentError::Window`] if nothing at all can be cut.
pub fn fit_within(
    conversation: &mut Conversation,
    target: u64,
    limits: &RunLimits,
) -> Result<CompactionReport, AgentError> {
    // The compactor needs exact counts: upper bounds would make it cut too much.
    conversation.count();
    let report = Compactor::new(conversation, target, target, limits).run();
    if report.strategies.is_empty() {
        return Err(conversation.does_not_fit(target));
    }
    Ok(report)
}
