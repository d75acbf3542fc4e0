//! The contract with stores, which hold definitions and shared variables.
//!
//! A store holds texts under typed keys. It does not know what the texts mean;
//! it says when one has changed.

mod change;
mod contract;
mod entry;
mod error;

pub use change::{Changes, Health, StoreChange};
pub use contract::Store;
pub use entry::{EntryKey, EntryKind, StoreEntry};
pub use error::{StoreError, StoreErrorKind};
