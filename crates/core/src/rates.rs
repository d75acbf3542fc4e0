//! Rate limits of providers, shared by replicas as token buckets.
//!
//! A bucket refills evenly and holds the amount of one second, or one. So no minute has more
//! requests than the rate allows, wherever it starts. Tokens may exceed the rate by the actual cost
//! of running answers; later requests wait for it.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use crate::BoxFuture;
use crate::store::{Health, StoreError};

/// Amount that one request takes from one bucket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RateDraw {
    /// Name of the bucket.
    pub bucket: Arc<str>,
    /// Refill per minute; 0 counts as 1.
    pub per_minute: u32,
    /// The amount; negative to give something back.
    pub amount: i64,
}

impl RateDraw {
    /// The most that the bucket holds.
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
        // One second's worth of burst; at least one, or nothing could ever be sent.
        f64::from(self.per_minute / 60).max(1.0)
    }

    /// Milliseconds in which one comes in: a minute that begins with a full bucket brings no more
    /// than the rate either.
    #[must_use]
    pub fn interval(&self) -> f64 {
        // The capacity is subtracted because a full bucket grants it immediately.
        60_000.0 / (f64::from(self.per_minute.max(1)) - self.capacity() + 1.0)
    }
}

/// Whether a request may be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RateDecision {
    /// Now, and its draws are taken.
    Now,
    /// Not before this time; ask again then. The request is queued.
    After(Duration),
    /// Not within the time that it has. Nothing was taken.
    Never {
        /// When it could be sent, as things are.
        wait: Duration,
        /// The draw that it would wait for.
        draw: usize,
    },
}

/// Buckets of one process or of all replicas. Draws from the buckets of a group are atomic.
pub trait Rates: Send + Sync + fmt::Debug {
    /// What and where it is, without secrets.
    fn describe(&self) -> String;

    /// Takes the draws if the buckets allow it; otherwise queues the request if its turn comes
    /// within `patience`. `in_line` says that it is queued already.
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

    /// Corrects an estimate: takes more, or gives back.
    fn adjust_usage<'a>(
        &'a self,
        group: &'a str,
        draws: &'a [RateDraw],
    ) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Blocks these buckets for a time; the queue restarts after it.
    fn pause_buckets<'a>(
        &'a self,
        group: &'a str,
        draws: &'a [RateDraw],
        time: Duration,
    ) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Whether the buckets are those of all replicas, where they should be.
    fn health(&self) -> Health {
        Health::Ready
    }
}

/// What happened to requests that buckets were asked for.
#[derive(Debug, Default)]
pub struct RateCounts {
    /// Requests that waited for their turn.
    pub waited: AtomicU64,
    /// Milliseconds that they waited.
    pub waited_ms: AtomicU64,
    /// Requests that were refused, since their turn was too far away.
    pub refused: AtomicU64,
    /// Times that a provider asked to wait, and all were held back.
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
