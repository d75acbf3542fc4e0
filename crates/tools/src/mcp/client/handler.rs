//! Client side of the MCP handshake.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rmcp::ClientHandler;
use rmcp::model::{ClientConfig, Implementation, ProtocolVersion};
use rmcp::service::{NotificationContext, RoleClient, RunningService};

pub(crate) type McpSession = Arc<RunningService<RoleClient, McpClientHandler>>;

/// Client info and notification counter of a session.
#[derive(Debug)]
pub(crate) struct McpClientHandler {
    config: ClientConfig,
    /// Number of change notifications from the server.
    pub(crate) changes: Arc<AtomicU64>,
}

impl ClientHandler for McpClientHandler {
    fn get_info(&self) -> ClientConfig {
        self.config.clone()
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changes.fetch_add(1, Ordering::SeqCst);
    }
}

/// Creates the client for the `initialize` handshake, which servers of all revisions accept. The
/// newest revision does not have this handshake, but its servers still answer it.
pub(super) fn client() -> McpClientHandler {
    let mut config = ClientConfig::default();
    config.protocol_version = ProtocolVersion::LATEST_WITH_INITIALIZE;
    config.client_info = Implementation::new("quillet", env!("CARGO_PKG_VERSION"));
    McpClientHandler {
        config,
        changes: Arc::default(),
    }
}
