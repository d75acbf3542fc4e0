//! Changes and health of a store.

use std::pin::Pin;

use futures_core::Stream;
use serde::Serialize;

use super::{EntryKey, EntryKind};

/// Notification that entries of a store may have changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreChange {
    /// One entry was written or removed.
    Entry(EntryKind, EntryKey),
    /// Any entry of a kind may have changed.
    Kind(EntryKind),
    /// Any entry may have changed: the store was unavailable, or notifications were missed.
    All,
}

/// Availability of a store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "lowercase")]
pub enum Health {
    /// The store answers.
    Ready,
    /// The store does not answer; cached entries are used.
    Away {
        /// The error.
        reason: String,
    },
}

/// Stream of changes.
pub type Changes = Pin<Box<dyn Stream<Item = StoreChange> + Send>>;
