//! Replaces the MCP client in builds without the feature `mcp`: every use of a server is an error.

use std::sync::Arc;
use std::time::Duration;

use quillet_core::Value;
use quillet_core::build::FeatureDisabled;
use quillet_core::tool::{ToolError, ToolErrorKind};

use super::server_entry::warning;
use super::{Endpoint, McpServers, McpTools};
use crate::Tools;
use crate::http::Http;
use crate::parameters::CallArguments;
use crate::returns::Returns;

const MCP: FeatureDisabled = FeatureDisabled {
    what: "MCP",
    feature: "mcp",
};

/// Whether this build has an MCP client.
pub(crate) const AVAILABLE: Result<(), FeatureDisabled> = Err(MCP);

/// Empty counterpart of the time limits.
#[derive(Debug)]
pub(crate) struct McpTimeouts;

impl McpTimeouts {
    pub(crate) fn new(_: Duration, _: Option<Duration>) -> Self {
        McpTimeouts
    }

    pub(crate) fn look_ahead(&self) -> bool {
        true
    }

    pub(crate) fn looks_ahead(&self) -> bool {
        false
    }
}

/// Counterpart of a server, without a connection.
#[derive(Debug)]
pub(crate) struct McpServer {
    pub(crate) endpoint: Endpoint,
}

impl McpServer {
    pub(crate) fn new(endpoint: Endpoint, _: Arc<Http>, _: Arc<McpTimeouts>, _: usize) -> Self {
        McpServer { endpoint }
    }

    pub(crate) fn connect_ahead(self: &Arc<Self>) {}
}

/// Always fails.
#[allow(clippy::unused_async)] // Same signature as the enabled variant.
pub(crate) async fn call(
    server: &Arc<McpServer>,
    name: &str,
    _: &str,
    _: CallArguments<'_>,
    _: &Returns,
) -> Result<Value, ToolError> {
    let message = format!("{name}: {}: {MCP}", server.endpoint);
    Err(ToolError::new(ToolErrorKind::Refused, message))
}

impl Tools {
    /// Returns no tools, and a warning for each server.
    #[allow(clippy::unused_async)] // Same signature as the enabled variant.
    pub async fn mcp_tools(&self, servers: &McpServers, _taken: &[&str]) -> McpTools {
        let wanted = servers.servers.iter();
        McpTools {
            tools: Vec::new(),
            warnings: wanted
                .map(|wanted| warning(&wanted.name, MCP.to_string()))
                .collect(),
        }
    }

    /// Does nothing.
    pub fn connect_ahead(&self, _servers: &McpServers) {}
}
