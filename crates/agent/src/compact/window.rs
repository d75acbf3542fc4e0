//! Shares of the model's window for a conversation.

use crate::Window;

/// Tokens of the window that a request may use. A window without room for more than its answer
/// reserves half of itself for the answer.
///
/// ```
/// use quillet_agent::Window;
/// use quillet_agent::compact::available;
///
/// let window = Window { context: 10_000, output: 2_000, known: true };
/// assert_eq!(available(window), 8_000);
/// ```
#[must_use]
pub fn available(window: Window) -> u64 {
    window.context - window.output.min(window.context / 2)
}

/// Trigger of compaction: 90 % of the available tokens, 85 % for unknown models.
///
/// ```
/// use quillet_agent::Window;
/// use quillet_agent::compact::trigger;
///
/// let window = Window { context: 10_000, output: 2_000, known: true };
/// assert_eq!(trigger(window), 7_200);
/// ```
#[must_use]
pub fn trigger(window: Window) -> u64 {
    percent(available(window), if window.known { 90 } else { 85 })
}

/// Target of compaction: 70 % of the available tokens, 65 % for unknown models.
///
/// ```
/// use quillet_agent::Window;
/// use quillet_agent::compact::target;
///
/// let window = Window { context: 10_000, output: 2_000, known: true };
/// assert_eq!(target(window), 5_600);
/// ```
#[must_use]
pub fn target(window: Window) -> u64 {
    percent(available(window), if window.known { 70 } else { 65 })
}

/// Percentage of a number.
pub(super) fn percent(of: u64, percent: u64) -> u64 {
    u64::try_from(u128::from(of) * u128::from(percent) / 100).unwrap_or(u64::MAX)
}
