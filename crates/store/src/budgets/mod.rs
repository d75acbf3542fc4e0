//! What was spent in a day: in memory for one process, in SQLite for those of a machine, in Redis
//! for all replicas. All keep the same books, those of [`quillet_core::budget::Ledger`].

mod memory;
mod shared;
mod sqlite;

pub use memory::MemoryBudgets;
pub(crate) use shared::SharedBudgets;
pub use sqlite::SqliteBudgets;
