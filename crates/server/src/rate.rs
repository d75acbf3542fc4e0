//! How often one client may call: a bucket of tokens for each.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::auth::Caller;
use crate::config::Rate;

/// Buckets kept at the same time. When there are more, the full ones are
/// forgotten, which changes nothing for their owners.
const MOST_CLIENTS: usize = 10_000;

/// What is counted: a token, or an address where there are none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct RateKey(Caller, Option<IpAddr>);

impl RateKey {
    /// Somebody of whom nothing is known.
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

/// The buckets.
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

    /// Takes one request out of a client's bucket.
    ///
    /// # Errors
    /// It is empty; the time is until it holds one again.
    pub(crate) fn take(&self, client: RateKey, now: Instant) -> Result<(), Duration> {
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
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
