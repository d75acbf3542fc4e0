//! Tools of MCP servers: which are wanted and where they are, and a client that speaks to them.

#[cfg(feature = "mcp")]
mod client;
#[cfg(not(feature = "mcp"))]
#[path = "client_disabled.rs"]
mod client;
mod endpoint;
mod placeholders;
mod server_entry;

use std::sync::Arc;

use quillet_core::Diagnostic;
use quillet_core::tool::Tool;

pub(crate) use client::{AVAILABLE, McpServer, McpTimeouts, call};
pub(crate) use endpoint::Endpoint;
pub use server_entry::{McpOrigin, McpServers};

/// The tools of some servers, and what was wrong with the others.
#[derive(Debug)]
pub struct McpTools {
    /// The tools, in the order of the servers and of their lists.
    pub tools: Vec<Arc<dyn Tool>>,
    /// A finding for each server that is left out.
    pub warnings: Vec<Diagnostic>,
}
