//! Time and random bits of an operating system.

use std::hash::{BuildHasher, RandomState};
use std::time::SystemTime;

/// The time of day.
pub(crate) fn time_of_day() -> SystemTime {
    SystemTime::now()
}

/// 128 random bits, which nobody can foretell.
pub(crate) fn random() -> [u64; 2] {
    // SipHash under a key from the system's random source: who has not the key, and nobody has,
    // cannot tell what it gives from chance.
    let keyed = RandomState::new();
    [keyed.hash_one(1), keyed.hash_one(2)]
}
