//! How often providers are asked: buckets in memory for one process, in Redis for all replicas.
//!
//! Both reckon alike. A bucket is two times: `full`, when it would be full again if nobody drew
//! from it, and `due`, the same if everybody in the line had drawn already. The first says what may
//! be sent now, and is never overdrawn by a request; the second says who is next, and is a promise
//! only.

mod memory;
#[cfg(feature = "redis")]
mod shared;

pub use memory::MemoryRates;
#[cfg(feature = "redis")]
pub(crate) use shared::SharedRates;

/// Who has a place in the line and finds others before it by less than this waits for them; where it
/// is more, somebody held all back or took more than was known, and it goes to the end of the line.
pub(crate) const NEAR_MS: f64 = 1000.0;
