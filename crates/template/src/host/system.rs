//! Time and random bits from the operating system.

use std::hash::{BuildHasher, RandomState};
use std::time::SystemTime;

/// Returns the time of day.
pub(crate) fn time_of_day() -> SystemTime {
    SystemTime::now()
}

/// Returns 128 unpredictable random bits.
pub(crate) fn random() -> [u64; 2] {
    // SipHash with a random secret key from the system. Without the key, its output cannot be
    // distinguished from random bits.
    let keyed = RandomState::new();
    [keyed.hash_one(1), keyed.hash_one(2)]
}
