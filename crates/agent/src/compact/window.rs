//! How much of a model's window a conversation may take.

use crate::Window;

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

/// A percentage of a number.
pub(super) fn percent(of: u64, percent: u64) -> u64 {
    u64::try_from(u128::from(of) * u128::from(percent) / 100).unwrap_or(u64::MAX)
}
