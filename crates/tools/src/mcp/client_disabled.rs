//! Stand-in for the MCP client in a build without the feature `mcp`: every use of a server is an
//! error.

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

/// Whether this build has a client.
pub(crate) const AVAILABLE: Result<(), FeatureDisabled> = Err(MCP);

/// How long things of a server may take, of which there are none.
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

/// A server that nobody speaks to.
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

/// Calls nothing.
#[allow(clippy::unused_async)] // As where there is a client.
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
    /// No tools: every server is left out, with the reason.
    #[allow(clippy::unused_async)] // As where there is a client.
    pub async fn mcp_tools(&self, servers: &McpServers, _taken: &[&str]) -> McpTools {
        let wanted = servers.servers.iter();
        McpTools {
            tools: Vec::new(),
            warnings: wanted
                .map(|wanted| warning(&wanted.name, MCP.to_string()))
                .collect(),
        }
    }

    /// Greets nobody.
    pub fn connect_ahead(&self, _servers: &McpServers) {}
}
