//! What stands where the client of MCP servers would, in a build without the feature `mcp`: servers
//! can be named, and whoever does gets an error.

use std::sync::Arc;
use std::time::Duration;

use quillet_core::Value;
use quillet_core::build::Missing;
use quillet_core::tool::{ToolError, ToolErrorKind};

use super::wanted::warning;
use super::{Endpoint, McpServers, McpTools};
use crate::Tools;
use crate::http::Http;
use crate::parameters::Given;
use crate::returns::Returns;

const MCP: Missing = Missing {
    what: "MCP",
    feature: "mcp",
};

/// Whether this build has a client.
pub(crate) const AVAILABLE: Result<(), Missing> = Err(MCP);

/// How long things of a server may take, of which there are none.
#[derive(Debug)]
pub(crate) struct Patience;

impl Patience {
    pub(crate) fn new(_: Duration, _: Option<Duration>) -> Self {
        Patience
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
pub(crate) struct Server {
    pub(crate) endpoint: Endpoint,
}

impl Server {
    pub(crate) fn new(endpoint: Endpoint, _: Arc<Http>, _: Arc<Patience>, _: usize) -> Self {
        Server { endpoint }
    }

    pub(crate) fn greet(self: &Arc<Self>) {}
}

/// Calls nothing.
#[allow(clippy::unused_async)] // As where there is a client.
pub(crate) async fn call(
    server: &Arc<Server>,
    name: &str,
    _: &str,
    _: Given<'_>,
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
    pub fn greet(&self, _servers: &McpServers) {}
}
