//! Cutting a conversation so that it fits into a model's window.
//!
//! [`Conversation`] holds the messages of a run and counts each of them at most once. [`fit`] is
//! called before every call of the model and mostly does nothing; where the conversation is over
//! the trigger, three strategies are applied one after the other until it is at the target:
//! attachments are cut, the middle is left out, then what is left is cut token by token.
//! `docs/agent/compaction.md` describes each.
//!
//! What always holds: a turn that makes calls and the results of those calls go or
//! stay together, the question is the last thing that is touched, and the messages
//! are in an order that every provider accepts.

mod attachment;
mod conversation;
mod level;
mod mend;
mod shorten;
mod squeeze;
mod summary;
mod units;

pub use conversation::Conversation;
pub use summary::{Summarized, summarize};

use crate::{AgentError, CompactionReport, Limits, Window};
use squeeze::Squeeze;

/// Tokens of a window that a request may take. A window without room for more
/// than its answer keeps half of itself for the answer.
#[must_use]
pub fn available(window: Window) -> u64 {
    window.context - window.output.min(window.context / 2)
}

/// Above this, a conversation is cut: 90 % of what is available, 85 % for models
/// that are not known.
#[must_use]
pub fn trigger(window: Window) -> u64 {
    percent(available(window), if window.known { 90 } else { 85 })
}

/// What a conversation is cut down to: 70 % of what is available, 65 % for models
/// that are not known.
#[must_use]
pub fn target(window: Window) -> u64 {
    percent(available(window), if window.known { 70 } else { 65 })
}

fn percent(of: u64, percent: u64) -> u64 {
    u64::try_from(u128::from(of) * u128::from(percent) / 100).unwrap_or(u64::MAX)
}

/// Whether it is to be cut. Counts only if what it has at most is over the trigger.
fn is_over(conversation: &mut Conversation, window: Window, limits: &Limits) -> bool {
    let trigger = trigger(window);
    limits.compaction && conversation.tokens() > trigger && conversation.count() > trigger
}

/// Cuts the conversation down to the target if it is over the trigger. `None` if
/// there was nothing to do, or if `limits.compaction` is off.
///
/// # Errors
/// [`AgentError::Window`] if it does not fit and nothing more can be cut.
pub fn fit(
    conversation: &mut Conversation,
    window: Window,
    limits: &Limits,
) -> Result<Option<CompactionReport>, AgentError> {
    if !is_over(conversation, window, limits) {
        return Ok(None);
    }
    let available = available(window);
    let report = Squeeze::new(conversation, target(window), available, limits).run();
    if conversation.tokens() > available {
        return Err(conversation.does_not_fit(available));
    }
    Ok(Some(report).filter(|report| !report.strategies.is_empty()))
}

/// Cuts the conversation down to a target, whatever the trigger says: after a
/// provider said that it is too long, although by our count it is not. A good
/// target is three quarters of [`Conversation::count`].
///
/// # Errors
/// [`AgentError::Window`] if nothing at all can be cut.
pub fn fit_within(
    conversation: &mut Conversation,
    target: u64,
    limits: &Limits,
) -> Result<CompactionReport, AgentError> {
    conversation.count();
    let report = Squeeze::new(conversation, target, target, limits).run();
    if report.strategies.is_empty() {
        return Err(conversation.does_not_fit(target));
    }
    Ok(report)
}
