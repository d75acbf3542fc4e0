//! In-memory rate limit buckets, for one process.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::FutureExt;
use quillet_core::BoxFuture;
use quillet_core::lock::lock;
use quillet_core::rates::{RateDecision, RateDraw, Rates};
use quillet_core::store::StoreError;
use tokio::time::Instant;

use super::NEAR_MS;

/// In-memory rate limit buckets.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
///
/// use quillet_core::rates::{RateDecision, RateDraw, Rates};
/// use quillet_store::MemoryRates;
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let rates = MemoryRates::new();
/// let draws = [RateDraw { bucket: "openai".into(), per_minute: 60, amount: 1 }];
/// let decision = rates.take("openai", &draws, Duration::ZERO, false).await?;
/// assert_eq!(decision, RateDecision::Now);
/// # Ok::<(), quillet_core::store::StoreError>(())
/// # }).unwrap();
/// ```
#[derive(Debug)]
pub struct MemoryRates {
    began: Instant,
    groups: Mutex<HashMap<String, Group>>,
}

type Group = HashMap<Arc<str>, Bucket>;

/// Times in milliseconds since the creation of the buckets.
#[derive(Clone, Copy, Debug, Default)]
struct Bucket {
    full: f64,
    due: f64,
}

impl Default for MemoryRates {
    fn default() -> Self {
        MemoryRates::new()
    }
}

impl MemoryRates {
    /// Creates full buckets.
    #[must_use]
    pub fn new() -> Self {
        MemoryRates {
            began: Instant::now(),
            groups: Mutex::default(),
        }
    }

    /// Modifies the buckets of a group.
    fn with<T>(&self, group: &str, change: impl FnOnce(&mut Group, f64) -> T) -> T {
        let now = self.began.elapsed().as_secs_f64() * 1000.0;
        let mut groups = lock(&self.groups);
        match groups.get_mut(group) {
            // Looked up first, so the usual case does not allocate the name.
            Some(found) => change(found, now),
            None => change(groups.entry(group.to_owned()).or_default(), now),
        }
    }

    /// Moves the times of each bucket; the closure gets the time that the draw is worth.
    fn shift(&self, group: &str, draws: &[RateDraw], shift: impl Fn(&mut Bucket, f64)) {
        self.with(group, |group, now| {
            for draw in draws {
                let mut bucket = at(group, draw, now);
                shift(&mut bucket, draw_time(draw));
                group.insert(draw.bucket.clone(), bucket);
            }
        });
    }
}

/// Returns the current state of a bucket. A time in the past only means that the bucket is full.
fn at(group: &Group, draw: &RateDraw, now: f64) -> Bucket {
    let kept = group.get(&draw.bucket).copied().unwrap_or_default();
    let full = kept.full.max(now);
    Bucket {
        full,
        due: kept.due.max(full),
    }
}

fn draw_time(draw: &RateDraw) -> f64 {
    draw.amount as f64 * draw.interval()
}

/// Returns how long before the bucket is full it contains enough for a draw. A draw that exceeds
/// the capacity waits for a full bucket and overdraws it.
fn slack(draw: &RateDraw) -> f64 {
    let capacity = draw.capacity();
    (capacity - capacity.min(draw.amount as f64)) * draw.interval()
}

fn milliseconds(time: f64) -> Duration {
    Duration::try_from_secs_f64(time.ceil() / 1000.0).unwrap_or(Duration::MAX)
}

fn turn(
    group: &mut Group,
    draws: &[RateDraw],
    now: f64,
    patience: f64,
    in_line: bool,
) -> RateDecision {
    let mut buckets: Vec<Bucket> = draws.iter().map(|draw| at(group, draw, now)).collect();
    let (mut ready, mut next, mut tightest) = (now, now, 0);
    for (index, (bucket, draw)) in buckets.iter().zip(draws).enumerate() {
        ready = ready.max(bucket.full - slack(draw));
        if bucket.due - slack(draw) > next {
            (next, tightest) = (bucket.due - slack(draw), index);
        }
    }
    // The name is looked up first, so the usual case does not allocate it.
    let goes = if in_line { ready <= now } else { next <= now };
    if !goes && in_line && ready - now <= NEAR_MS {
        return RateDecision::After(milliseconds(ready - now));
    }
    if !goes && next - now > patience {
        return RateDecision::Never {
            wait: milliseconds(next - now),
            draw: tightest,
        };
    }
    for (bucket, draw) in buckets.iter_mut().zip(draws) {
        if goes {
            bucket.full += draw_time(draw);
        }
        // A queued request has been added to `due` already.
        if !(goes && in_line) {
            bucket.due += draw_time(draw);
        }
        group.insert(draw.bucket.clone(), *bucket);
    }
    if goes {
        RateDecision::Now
    } else {
        RateDecision::After(milliseconds(next - now))
    }
}

impl Rates for MemoryRates {
    fn describe(&self) -> String {
        "memory".to_owned()
    }

    fn take<'a>(
        &'a self,
        group: &'a str,
        draws: &'a [RateDraw],
        patience: Duration,
        in_line: bool,
    ) -> BoxFuture<'a, Result<RateDecision, StoreError>> {
        let patience = patience.as_secs_f64() * 1000.0;
        let take = move |group: &mut Group, now: f64| turn(group, draws, now, patience, in_line);
        async move { Ok(self.with(group, take)) }.boxed()
    }

    fn cancel_wait<'a>(
        &'a self,
        group: &'a str,
        draws: &'a [RateDraw],
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        self.shift(group, draws, |bucket, worth| bucket.due -= worth);
        async { Ok(()) }.boxed()
    }

    fn adjust_usage<'a>(
        &'a self,
        group: &'a str,
        draws: &'a [RateDraw],
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        self.shift(group, draws, |bucket, worth| {
            bucket.full += worth;
            bucket.due += worth;
        });
        async { Ok(()) }.boxed()
    }

    fn pause_buckets<'a>(
        &'a self,
        group: &'a str,
        draws: &'a [RateDraw],
        time: Duration,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        let time = time.as_secs_f64() * 1000.0;
        self.with(group, |group, now| {
            for draw in draws {
                // After the pause, one request is available.
                let held = now + time + (draw.capacity() - 1.0) * draw.interval();
                let full = at(group, draw, now).full.max(held);
                group.insert(draw.bucket.clone(), Bucket { full, due: full });
            }
        });
        async { Ok(()) }.boxed()
    }
}
