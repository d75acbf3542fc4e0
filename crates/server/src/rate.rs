//! Rate limits of clients: one token bucket per client.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use quillet_core::lock::lock;

use crate::caller::Caller;
use crate::config::Rate;

/// The maximum number of buckets. When it is reached, full buckets are dropped, which has no effect
/// on their clients.
const MOST_CLIENTS: usize = 10_000;

/// The key of a bucket: a token, or an address if no tokens are configured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct RateKey(Caller, Option<IpAddr>);

impl RateKey {
    /// The key of a client before authentication.
    pub(crate) const UNKNOWN: RateKey = RateKey(Caller::Anyone, None);

    pub(crate) fn new(caller: Caller, address: IpAddr) -> Self {
        let address = (caller == Caller::Anyone).then_some(address);
        RateKey(caller, address)
    }

    pub(crate) fn caller(self) -> Caller {
        self.0
    }

    pub(crate) fn address(self) -> Option<IpAddr> {
        self.1
    }
}

/// The token buckets of all clients.
#[derive(Debug)]
pub(crate) struct RateLimiter {
    rate: Rate,
    buckets: Mutex<HashMap<RateKey, Bucket>>,
}

#[derive(Clone, Copy, Debug)]
struct Bucket {
    left: f64,
    seen: Instant,
}

impl RateLimiter {
    pub(crate) fn new(rate: Rate) -> Self {
        RateLimiter {
            rate,
            buckets: Mutex::default(),
        }
    }

    /// Takes one token from the bucket of a client.
    ///
    /// # Errors
    /// Returns the time until the next token if the bucket is empty.
    pub(crate) fn take(&self, client: RateKey, now: Instant) -> Result<(), Duration> {
        // A poisoned lock is safe to use: every update replaces a whole bucket.
        let mut buckets = lock(&self.buckets);
        // Remove full buckets only when the map has too many clients. Removing a full bucket does
        // not affect its client, because a new bucket also starts full.
        if buckets.len() >= MOST_CLIENTS {
            buckets.retain(|_, bucket| self.filled(*bucket, now) < self.burst());
        }
        let full = Bucket {
            left: self.burst(),
            seen: now,
        };
        let bucket = buckets.entry(client).or_insert(full);
        let left = self.filled(*bucket, now);
        *bucket = Bucket { left, seen: now };
        if left < 1.0 {
            let seconds = (1.0 - left) / self.rate.per_second.max(f64::MIN_POSITIVE);
            return Err(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX));
        }
        bucket.left -= 1.0;
        Ok(())
    }

    fn burst(&self) -> f64 {
        f64::from(self.rate.burst.max(1))
    }

    fn filled(&self, bucket: Bucket, now: Instant) -> f64 {
        let elapsed = now.saturating_duration_since(bucket.seen).as_secs_f64();
        (bucket.left + elapsed * self.rate.per_second).min(self.burst())
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    #[test]
    fn a_bucket_empties_and_fills_for_each_client_alone() {
        let limiter = RateLimiter::new(Rate {
            per_second: 2.0,
            burst: 2,
        });
        let address = IpAddr::from(Ipv4Addr::LOCALHOST);
        let (one, two) = (
            RateKey::new(Caller::Token(0), address),
            RateKey::new(Caller::Anyone, address),
        );
        let start = Instant::now();
        assert_eq!(limiter.take(one, start), Ok(()));
        assert_eq!(limiter.take(one, start), Ok(()));
        assert_eq!(limiter.take(one, start), Err(Duration::from_millis(500)));
        assert_eq!(limiter.take(two, start), Ok(()));
        assert_eq!(
            limiter.take(one, start + Duration::from_millis(500)),
            Ok(())
        );
    }

    #[test]
    fn many_clients_do_not_fill_the_memory() {
        let limiter = RateLimiter::new(Rate {
            per_second: 1000.0,
            burst: 1,
        });
        let mut now = Instant::now();
        for n in 0..30_000_u32 {
            now += Duration::from_millis(1);
            let client = RateKey::new(Caller::Anyone, IpAddr::from(Ipv4Addr::from(n)));
            assert_eq!(limiter.take(client, now), Ok(()));
        }
        assert!(limiter.buckets.lock().unwrap().len() <= MOST_CLIENTS);
    }
}
