//! Tools of MCP servers: configuration and client.

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

/// Tools of MCP servers, and diagnostics about skipped servers.
#[derive(Debug)]
pub struct McpTools {
    /// The tools, ordered by server, and within a server as the server lists them.
    pub tools: Vec<Arc<dyn Tool>>,
    /// Diagnostics, one for each server that was skipped.
    pub warnings: Vec<Diagnostic>,
}
