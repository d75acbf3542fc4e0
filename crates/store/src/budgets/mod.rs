//! Daily budget usage: in memory for one process, in SQLite for the processes of one machine, in
//! Redis for all replicas. All follow [`quillet_core::budget::Ledger`].

mod memory;
mod shared;
mod sqlite;

pub use memory::MemoryBudgets;
pub(crate) use shared::SharedBudgets;
pub use sqlite::SqliteBudgets;
