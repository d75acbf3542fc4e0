//! Connections that tools share: tools of one server use one connection, one descriptor set or one
//! session. A server lives as long as a tool refers to it, so that reloading definitions keeps what
//! is still used.

use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use quillet_core::lock::lock;

use crate::http::Http;
use crate::network::Network;
use crate::pool::Pool;
use crate::{grpc, mcp};

/// The gRPC and MCP servers of all tools.
#[derive(Debug)]
pub(crate) struct ToolServers {
    http: Arc<Http>,
    response_bytes: usize,
    patience: Arc<mcp::McpTimeouts>,
    pub(crate) grpc: Arc<grpc::GrpcServers>,
    mcp: Mutex<Vec<Weak<mcp::McpServer>>>,
    pool: Pool,
    /// Configured servers, which stay open.
    kept: Mutex<Vec<Arc<mcp::McpServer>>>,
}

impl ToolServers {
    pub(crate) fn new(
        network: Network,
        http: Arc<Http>,
        response_bytes: usize,
        patience: mcp::McpTimeouts,
        mcp_idle: Duration,
    ) -> Self {
        ToolServers {
            http,
            response_bytes,
            patience: Arc::new(patience),
            kept: Mutex::default(),
            grpc: Arc::new(grpc::GrpcServers::new(network, response_bytes)),
            mcp: Mutex::default(),
            pool: Pool::new(mcp_idle),
        }
    }

    /// The MCP server at an endpoint.
    pub(crate) fn mcp(&self, endpoint: mcp::Endpoint) -> Arc<mcp::McpServer> {
        let mut servers = lock(&self.mcp);
        // Closed servers are removed here, so no task has to clean up.
        servers.retain(|server| server.strong_count() > 0);
        let mut running = servers.iter().filter_map(Weak::upgrade);
        if let Some(server) = running.find(|server| server.endpoint.is(&endpoint)) {
            return server;
        }
        let server = mcp::McpServer::new(
            endpoint,
            self.http.clone(),
            self.patience.clone(),
            self.response_bytes,
        );
        let server = Arc::new(server);
        servers.push(Arc::downgrade(&server));
        drop(servers);
        // Definitions may also be loaded outside a runtime, where nothing can be spawned.
        if self.patience.looks_ahead() && tokio::runtime::Handle::try_current().is_ok() {
            server.connect_ahead();
        }
        server
    }

    /// Initializes all known servers, and from now on each new one. Must be called inside a Tokio
    /// runtime.
    pub(crate) fn look_ahead(&self) {
        if self.patience.look_ahead() {
            return;
        }
        // Collected first, so that the lock is not held while connections begin.
        let servers: Vec<Arc<mcp::McpServer>> = {
            let servers = lock(&self.mcp);
            servers.iter().filter_map(Weak::upgrade).collect()
        };
        servers.iter().for_each(mcp::McpServer::connect_ahead);
    }

    /// Keeps a server for as long as there are servers at all, greeted ahead.
    pub(crate) fn keep(&self, endpoint: mcp::Endpoint) {
        let server = self.mcp(endpoint);
        let mut kept = lock(&self.kept);
        if !kept.iter().any(|known| Arc::ptr_eq(known, &server)) {
            kept.push(server);
        }
    }

    /// As [`Servers::mcp`], and held for a while after its last tool is gone: the next request
    /// usually names the same servers.
    pub(crate) fn pooled(&self, endpoint: mcp::Endpoint) -> Arc<mcp::McpServer> {
        let server = self.mcp(endpoint);
        self.pool.keep(&server);
        server
    }
}
