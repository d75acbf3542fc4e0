//! Daily budget usage: in memory for one process, in SQLite for the processes on one machine, in
//! Redis for all replicas. All stores use [`quillet_core::budget::Ledger`].

mod memory;
mod shared;
mod sqlite;

pub use memory::MemoryBudgets;
pub(crate) use shared::SharedBudgets;
pub use sqlite::SqliteBudgets;
