//! Time and random bits that the embedding program hands in, where no operating system has them.

use std::ops::Add;
use std::sync::OnceLock;
use std::time::{Duration, SystemTime};

static PROVIDED: OnceLock<HostFunctions> = OnceLock::new();

/// What the embedding program hands in.
#[derive(Clone, Copy, Debug)]
pub struct HostFunctions {
    /// The time since 1970-01-01 UTC; `Date.now()` in JavaScript. Without it there is no limit on
    /// time, and dates are those of 1970.
    pub since_epoch: Option<fn() -> Duration>,
    /// 64 random bits that nobody can foretell; `crypto.getRandomValues` in JavaScript. What tells a
    /// template's messages from those that a variable's text imitates is made of them.
    pub random: fn() -> u64,
}

/// Hands in what the machine lacks, once and before the first template is compiled. Says whether it
/// was taken: it is not if something was handed in before.
pub fn provide(provided: HostFunctions) -> bool {
    PROVIDED.set(provided).is_ok()
}

/// A moment of the clock that was handed in, by which renders are bounded; always the same one if none
/// was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Instant(Duration);

impl Instant {
    /// This moment.
    #[must_use]
    pub fn now() -> Self {
        Instant(since_epoch())
    }

    /// The moment so much later, as far as there is one.
    #[must_use]
    pub fn checked_add(self, time: Duration) -> Option<Self> {
        self.0.checked_add(time).map(Instant)
    }

    /// The time from an earlier moment to this one; zero if it was not earlier.
    #[must_use]
    pub fn saturating_duration_since(self, earlier: Instant) -> Duration {
        self.0.saturating_sub(earlier.0)
    }
}

impl Add<Duration> for Instant {
    type Output = Self;

    fn add(self, time: Duration) -> Self {
        Instant(self.0.saturating_add(time))
    }
}

/// The time of day.
pub(crate) fn time_of_day() -> SystemTime {
    let time = SystemTime::UNIX_EPOCH.checked_add(since_epoch());
    time.unwrap_or(SystemTime::UNIX_EPOCH)
}

/// 128 random bits.
///
/// # Panics
/// Nothing was handed in. There is no second best: bits that can be foretold would let a variable's
/// text pass for a message of the template's.
pub(crate) fn random() -> [u64; 2] {
    let provided = PROVIDED.get();
    let provided = provided.expect("host::provide was called before the first template");
    [(provided.random)(), (provided.random)()]
}

fn since_epoch() -> Duration {
    let clock = PROVIDED.get().and_then(|provided| provided.since_epoch);
    clock.map(|clock| clock()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    static SECONDS: AtomicU64 = AtomicU64::new(1_000);

    fn provided(first_random: fn() -> u64) -> HostFunctions {
        HostFunctions {
            since_epoch: Some(|| Duration::from_secs(SECONDS.load(Ordering::Relaxed))),
            random: first_random,
        }
    }

    #[test]
    fn time_stands_still_until_it_is_handed_in() {
        let begun = Instant::now();
        assert_eq!(begun, Instant::now());
        assert_eq!(time_of_day(), SystemTime::UNIX_EPOCH);

        assert!(provide(provided(|| 7)));
        assert!(!provide(provided(|| 8)), "the first one stays");
        assert_eq!(random(), [7, 7]);

        let deadline = Instant::now() + Duration::from_secs(5);
        assert!(Instant::now() < deadline);
        SECONDS.fetch_add(5, Ordering::Relaxed);
        assert!(Instant::now() >= deadline);
        assert_eq!(
            deadline.saturating_duration_since(begun),
            Duration::from_secs(1_005)
        );
        assert_eq!(begun.saturating_duration_since(deadline), Duration::ZERO);
        let since = time_of_day().duration_since(SystemTime::UNIX_EPOCH);
        assert_eq!(since.unwrap(), Duration::from_secs(1_005));
        assert_eq!(Instant::now() + Duration::MAX, Instant(Duration::MAX));
        assert_eq!(deadline.checked_add(Duration::MAX), None);
    }
}
