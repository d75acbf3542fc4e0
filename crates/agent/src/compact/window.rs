//! Shares of the model's window for a conversation.

use crate::Window;

/// Tokens of the window that a request may use. A window without room for more than its answer
/// reserves half of itself for the answer.
#[must_use]
pub fn available(window: Window) -> u64 {
    window.context - window.output.min(window.context / 2)
}

/// Trigger of compaction: 90 % of the available tokens, 85 % for unknown models.
#[must_use]
pub fn trigger(window: Window) -> u64 {
    percent(available(window), if window.known { 90 } else { 85 })
}

/// Target of compaction: 70 % of the available tokens, 65 % for unknown models.
#[must_use]
pub fn target(window: Window) -> u64 {
    percent(available(window), if window.known { 70 } else { 65 })
}

/// Percentage of a number.
pub(super) fn percent(of: u64, percent: u64) -> u64 {
    u64::try_from(u128::from(of) * u128::from(percent) / 100).unwrap_or(u64::MAX)
}
