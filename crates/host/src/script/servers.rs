//! Tools of MCP servers for stored scripts, from the servers that are connected.

use std::sync::{Arc, RwLock, Weak};
use std::time::Duration;

use quillet_core::Diagnostic;
use quillet_core::lock::{read, write};
use quillet_core::tool::Tool;
use quillet_tools::{McpServers, Tools};
use tokio_util::task::AbortOnDropHandle;

/// Delay before an unavailable server is retried; doubled after each attempt.
const PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// Tools of MCP servers. Unavailable servers are retried in the background, and their tools are
/// added when they connect.
#[derive(Debug)]
pub struct ServerTools {
    found: Arc<ToolList>,
    /// Stops the background retries on drop.
    _asking: AbortOnDropHandle<()>,
}

type ToolList = RwLock<Vec<Arc<dyn Tool>>>;

impl ServerTools {
    /// Connects to the servers, waiting as long as a request would. The diagnostics report servers
    /// that did not answer.
    pub async fn connect(tools: Arc<Tools>, servers: McpServers) -> (Self, Vec<Diagnostic>) {
        tools.connect_ahead(&servers);
        let first = tools.mcp_tools(&servers, &[]).await;
        let all_there = first.warnings.is_empty();
        let found = Arc::new(RwLock::new(first.tools));
        let asking = ask_again(tools, servers, Arc::downgrade(&found), all_there);
        let tools = ServerTools {
            found,
            _asking: AbortOnDropHandle::new(tokio::spawn(asking)),
        };
        (tools, first.warnings)
    }

    pub(super) fn find(&self, name: &str) -> Option<Arc<dyn Tool>> {
        let found = read(&self.found);
        found.iter().find(|tool| tool.spec().name == name).cloned()
    }

    pub(super) fn names(&self) -> Vec<String> {
        let found = read(&self.found);
        found.iter().map(|tool| tool.spec().name.clone()).collect()
    }
}

async fn ask_again(tools: Arc<Tools>, servers: McpServers, found: Weak<ToolList>, mut done: bool) {
    let mut pause = PAUSE;
    while !done {
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
        let now = tools.mcp_tools(&servers, &[]).await;
        done = now.warnings.is_empty();
        let Some(found) = found.upgrade() else { return };
        let mut known = write(&found);
        // The known tools of a server are kept while it is unavailable.
        if done || now.tools.len() >= known.len() {
            *known = now.tools;
        }
    }
}
