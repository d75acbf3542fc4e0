//! Traits of stores for definitions and shared variables.
//!
//! A store holds texts under typed keys. It does not interpret the texts, but reports changes.

mod change;
mod contract;
mod entry;
mod error;

pub use change::{Changes, Health, StoreChange};
pub use contract::Store;
pub use entry::{EntryKey, EntryKind, StoreEntry};
pub use error::{StoreError, StoreErrorKind};
