//! What MCP clients connect to: standard input and output, and HTTP.

mod approval;
mod handler;
mod http;
mod wording;

use std::sync::Arc;

use quillet_core::build::Missing;
use rmcp::ServiceExt;

use super::Offer;
use handler::Handler;
pub use http::HttpDoor;

/// Whether this build serves MCP clients.
pub const AVAILABLE: Result<(), Missing> = Ok(());

/// Serves one client on standard input and output until it closes them. Nothing else
/// may write to standard output meanwhile.
///
/// # Errors
/// The client does not speak MCP, or the connection broke.
pub async fn stdio(offer: Arc<dyn Offer>) -> std::io::Result<()> {
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
