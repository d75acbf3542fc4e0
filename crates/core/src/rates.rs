//! Rate limits of providers, implemented as token buckets that replicas share.
//!
//! A bucket refills evenly, and its capacity is the amount of one second, but at least one. No
//! minute, wherever it starts, therefore has more requests than the rate allows. Tokens may exceed
//! the rate by the actual cost of running answers; later requests wait for that.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use crate::BoxFuture;
use crate::store::{Health, StoreError};

/// Amount that a request takes from a bucket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RateDraw {
    /// Name of the bucket.
    pub bucket: Arc<str>,
    /// Refill per minute; 0 counts as 1.
    pub per_minute: u32,
    /// The amount; negative to return tokens.
    pub amount: i64,
}

impl RateDraw {
    /// Capacity of the bucket.
    ///
    /// # Examples
    ///
    /// ```
    /// use quillet_core::rates::RateDraw;
    ///
    /// let draw = |per_minute| RateDraw { bucket: "openai".into(), per_minute, amount: 1 };
    /// assert_eq!(draw(600).capacity(), 10.0);
    /// assert_eq!(draw(30).capacity(), 1.0);
    /// ```
    #[must_use]
    pub fn capacity(&self) -> f64 {
        // One second's worth of burst, but at least one, because an empty bucket would block every
        // request.
        f64::from(self.per_minute / 60).max(1.0)
    }

    /// Milliseconds between two refills, chosen so that even a minute that starts with a full
    /// bucket stays within the rate.
    #[must_use]
    pub fn interval(&self) -> f64 {
        // The capacity is subtracted, because a full bucket grants it immediately.
        60_000.0 / (f64::from(self.per_minute.max(1)) - self.capacity() + 1.0)
    }
}

/// Decision about sending a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RateDecision {
    /// Send now; the amounts have been taken.
    Now,
    /// Try again after this time; the request is queued.
    After(Duration),
    /// The wait exceeds the time of the request. No amount has been taken.
    Never {
        /// Estimated wait.
        wait: Duration,
        /// Index of the draw that requires the wait.
        draw: usize,
    },
}

/// Buckets of one process or of all replicas. Taking several amounts from a group of buckets is
/// atomic.
pub trait Rates: Send + Sync + fmt::Debug {
    /// Describes the store and its location, without secrets.
    fn describe(&self) -> String;

    /// Takes the amounts if the buckets allow it. Otherwise queues the request if it can be sent
    /// within `patience`. `in_line` states that the request is already queued.
    fn take<'a>(
        &'a self,
        group: &'a str,
        draws: &'a [RateDraw],
        patience: Duration,
        in_line: bool,
    ) -> BoxFuture<'a, Result<RateDecision, StoreError>>;

    /// Leaves the queue.
    fn cancel_wait<'a>(
        &'a self,
        group: &'a str,
        draws: &'a [RateDraw],
    ) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Corrects an estimate by taking or returning tokens.
    fn adjust_usage<'a>(
        &'a self,
        group: &'a str,
        draws: &'a [RateDraw],
    ) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Blocks these buckets for a time, after which the queue restarts.
    fn pause_buckets<'a>(
        &'a self,
        group: &'a str,
        draws: &'a [RateDraw],
        time: Duration,
    ) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Whether the buckets are shared with all replicas, if they are meant to be.
    fn health(&self) -> Health {
        Health::Ready
    }
}

/// Counters of rate-limited requests.
#[derive(Debug, Default)]
pub struct RateCounts {
    /// Requests that waited.
    pub waited: AtomicU64,
    /// Total wait in milliseconds.
    pub waited_ms: AtomicU64,
    /// Requests rejected because their wait would be too long.
    pub refused: AtomicU64,
    /// Number of times that a provider's request to wait blocked a bucket.
    pub held: AtomicU64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_bucket_and_a_minute_are_no_more_than_the_rate() {
        for per_minute in [0, 1, 3, 59, 60, 90, 500, 10_000, u32::MAX] {
            let draw = RateDraw {
                bucket: "a".into(),
                per_minute,
                amount: 1,
            };
            let most = draw.capacity() - 1.0 + 60_000.0 / draw.interval();
            let rate = f64::from(per_minute.max(1));
            assert!((most - rate).abs() < 1e-6 * rate, "{per_minute}: {most}");
        }
    }
}
