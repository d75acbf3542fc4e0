//! Databases as tools: what the origin's agent could do, for whoever calls tools.

use std::sync::Arc;

use quillet_core::tool::Tool;

use crate::{Connection, Databases};

/// The tools of all connections.
#[must_use]
pub fn all(databases: &Databases, connections: &[Connection]) -> Vec<Arc<dyn Tool>> {
    let _ = (databases, connections);
    Vec::new()
}
