//! Time and random bits from the embedding program, on targets without an operating system.

use std::ops::Add;
use std::sync::OnceLock;
use std::time::{Duration, SystemTime};

static PROVIDED: OnceLock<HostFunctions> = OnceLock::new();

/// Functions that the embedding program provides.
#[derive(Clone, Copy, Debug)]
pub struct HostFunctions {
    /// Function that returns the time since 1970-01-01 UTC, such as `Date.now()` in JavaScript.
    /// Without this function there is no time limit, and dates are those of 1970.
    pub since_epoch: Option<fn() -> Duration>,
    /// Function that returns 64 unpredictable random bits, such as those of
    /// `crypto.getRandomValues` in JavaScript. The bits form the secret that distinguishes a
    /// template's messages from imitations in variables.
    pub random: fn() -> u64,
}

/// Registers the functions. Call this once, before the first template is compiled. Returns `false`
/// if functions are already registered.
pub fn provide(provided: HostFunctions) -> bool {
    PROVIDED.set(provided).is_ok()
}

/// A time on the registered clock, which limits renders. If no clock is registered, the time never
/// changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Instant(Duration);

impl Instant {
    /// Returns the current instant.
    #[must_use]
    pub fn now() -> Self {
        Instant(since_epoch())
    }

    /// Returns the instant after this duration, if that instant is representable.
    #[must_use]
    pub fn checked_add(self, time: Duration) -> Option<Self> {
        self.0.checked_add(time).map(Instant)
    }

    /// Returns the time since an earlier instant, or zero if the other instant is not earlier.
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

/// Returns the time of day.
pub(crate) fn time_of_day() -> SystemTime {
    let time = SystemTime::UNIX_EPOCH.checked_add(since_epoch());
    time.unwrap_or(SystemTime::UNIX_EPOCH)
}

/// Returns 128 random bits.
///
/// # Panics
/// Panics if no functions were registered. There is no fallback: with predictable bits, text in a
/// variable could pass as a message of the template.
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
