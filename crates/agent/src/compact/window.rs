//! Parts of the model's window for requests.

use crate::Window;

/// Returns the number of tokens that a request may use: the window minus the tokens reserved for
/// the answer, which are limited to half of the window.
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

/// Returns the trigger of compaction: 90 % of the available tokens, or 85 % for unknown models.
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

/// Returns the target of compaction: 70 % of the available tokens, or 65 % for unknown models.
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

/// Returns a percentage of a number.
pub(super) fn percent(of: u64, percent: u64) -> u64 {
    u64::try_from(u128::from(of) * u128::from(percent) / 100).unwrap_or(u64::MAX)
}
