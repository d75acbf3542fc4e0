//! Rate limit buckets: in memory for one process, in Redis for all replicas.
//!
//! Both use the same algorithm. A bucket consists of two times: `full`, when it is full again
//! without further draws, and `due`, the same after all queued requests have drawn. `full` decides
//! what may be sent now and is never overdrawn by a request; `due` only orders the queue.

mod memory;
#[cfg(feature = "redis")]
mod shared;

pub use memory::MemoryRates;
#[cfg(feature = "redis")]
pub(crate) use shared::SharedRates;

/// Who has a place in the line and finds others before it by less than this waits for them; where it
/// is more, somebody held all back or took more than was known, and it goes to the end of the line.
pub(crate) const NEAR_MS: f64 = 1000.0;
