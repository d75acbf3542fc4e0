//! Current time as stored and sent: since 1970-01-01 UTC.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Returns the time since 1970; zero if the clock is set to an earlier time.
#[must_use]
pub fn since_epoch() -> Duration {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.unwrap_or_default()
}

/// Returns the time since 1970 in milliseconds.
#[must_use]
pub fn millis() -> u64 {
    u64::try_from(since_epoch().as_millis()).unwrap_or(u64::MAX)
}
