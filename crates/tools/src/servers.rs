//! Connections that tools share. All tools of a server use the same connection, descriptor set or
//! session. A server stays open while a tool refers to it, so reloading definitions keeps the
//! servers that are still used.

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

    /// Returns the MCP server at an endpoint.
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
        // Definitions may also be loaded outside a runtime, where tasks cannot be spawned.
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
        // The servers are collected first, so that the lock is not held while connections begin.
        let servers: Vec<Arc<mcp::McpServer>> = {
            let servers = lock(&self.mcp);
            servers.iter().filter_map(Weak::upgrade).collect()
        };
        servers.iter().for_each(mcp::McpServer::connect_ahead);
    }

    /// Connects to a server in advance, and keeps it open as long as `self` exists.
    pub(crate) fn keep(&self, endpoint: mcp::Endpoint) {
        let server = self.mcp(endpoint);
        let mut kept = lock(&self.kept);
        if !kept.iter().any(|known| Arc::ptr_eq(known, &server)) {
            kept.push(server);
        }
    }

    /// Like [`ToolServers::mcp`], but the server stays open for a while after its last use: the
    /// next request usually has the same servers.
    pub(crate) fn pooled(&self, endpoint: mcp::Endpoint) -> Arc<mcp::McpServer> {
        let server = self.mcp(endpoint);
        self.pool.keep(&server);
        server
    }
}
