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

/// A queued request that arrives early by at most this time keeps its position. If it is earlier,
/// the buckets were paused or overdrawn, and it moves to the end of the queue.
pub(crate) const NEAR_MS: f64 = 1000.0;
