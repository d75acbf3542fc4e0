//! The shared variables that a prompt needs, as its last render found them.

use std::sync::Arc;

use quillet_core::store::Key;
use quillet_core::{Diagnostic, Map};
use tokio::time::Instant;

/// What a compiled prompt needs of the shared variables, with the tree that was
/// built last.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(super) generation: u64,
    pub(super) version: u64,
    pub(super) keys: Vec<Key>,
    pub(super) tree: Map,
    pub(super) broken: Broken,
    pub(super) good_until: Instant,
    pub(super) stale: bool,
}

impl Plan {
    pub(crate) fn keys(&self) -> &[Key] {
        &self.keys
    }
}

/// Variables that are there and hold no value, by id.
pub(super) type Broken = Option<Arc<[(String, Arc<Diagnostic>)]>>;
