//! Transports of the MCP server: standard input and output, and HTTP.

mod approval;
mod convert;
mod handler;
mod http;

use std::sync::Arc;

use quillet_core::build::FeatureDisabled;
use rmcp::ServiceExt;

use super::McpBackend;
use handler::Handler;
pub use http::HttpTransport;

/// Whether this build can serve MCP clients.
pub const AVAILABLE: Result<(), FeatureDisabled> = Ok(());

/// Serves one client on standard input and output until the client closes them. Other code must not
/// write to standard output in the meantime.
///
/// # Errors
/// The client does not speak MCP, or the connection broke.
pub async fn stdio(offer: Arc<dyn McpBackend>) -> std::io::Result<()> {
    let transport = (tokio::io::stdin(), tokio::io::stdout());
    let running = Handler::new(offer)
        .serve(transport)
        .await
        .map_err(|error| std::io::Error::other(error.to_string()))?;
    let ended = running.waiting().await;
    ended
        .map(|_| ())
        .map_err(|error| std::io::Error::other(error.to_string()))
}
