//! Shared variables that a prompt needs, as determined by its last render.

use std::sync::Arc;

use quillet_core::store::EntryKey;
use quillet_core::{Diagnostic, Map};
use tokio::time::Instant;

/// Keys of the shared variables that a compiled prompt needs, and the most recent value tree.
#[derive(Debug)]
pub(crate) struct VariablePlan {
    pub(super) generation: u64,
    pub(super) version: u64,
    pub(super) keys: Vec<EntryKey>,
    pub(super) tree: Map,
    pub(super) broken: BrokenVariables,
    pub(super) good_until: Instant,
    pub(super) stale: bool,
}

impl VariablePlan {
    pub(crate) fn keys(&self) -> &[EntryKey] {
        &self.keys
    }
}

/// Shared variables with an invalid value, by id.
pub(super) type BrokenVariables = Option<Arc<[(String, Arc<Diagnostic>)]>>;
