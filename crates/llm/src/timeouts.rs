//! Timeouts of a call to a provider.

use std::time::Duration;

/// Timeouts of a call to a provider. Connecting has a separate limit,
/// [`HttpOptions::connect`](crate::HttpOptions::connect).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// From the request to the first byte of the body, and between two events if only pings keep
    /// the connection alive. Default 120 s.
    pub first_byte: Duration,
    /// Between two chunks of an answer. Default 60 s.
    pub idle: Duration,
    /// From the request to the end of the answer. Default 600 s.
    pub total: Duration,
}

impl Timeouts {
    /// Maximum time without an event while pings keep the connection alive: the larger of
    /// `first_byte` and `idle`.
    pub(crate) fn silence(&self) -> Duration {
        self.first_byte.max(self.idle)
    }
}

impl Default for Timeouts {
    fn default() -> Self {
        Timeouts {
            first_byte: Duration::from_secs(120),
            idle: Duration::from_secs(60),
            total: Duration::from_secs(600),
        }
    }
}
