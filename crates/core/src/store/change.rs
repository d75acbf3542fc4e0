//! Changes and health of a store.

use std::pin::Pin;

use futures_core::Stream;
use serde::Serialize;

use super::{EntryKey, EntryKind};

/// A notice that something in a store may have changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreChange {
    /// One entry was written or removed.
    Entry(EntryKind, EntryKey),
    /// Everything of a kind may have changed.
    Kind(EntryKind),
    /// Everything may have changed: the store was away, or changes were missed.
    All,
}

/// Whether a store can be reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "lowercase")]
pub enum Health {
    /// It answers.
    Ready,
    /// It does not answer; what is cached is served.
    Away {
        /// What happened.
        reason: String,
    },
}

/// Changes as they happen.
pub type Changes = Pin<Box<dyn Stream<Item = StoreChange> + Send>>;
