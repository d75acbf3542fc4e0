//! Replaces the transports in builds without the feature `mcp`.

use std::io;
use std::sync::Arc;

use http_body_util::{BodyExt, Full};
use hyper::{Request, Response, StatusCode};
use quillet_core::build::FeatureDisabled;

use super::{HttpAnswer, McpBackend};

const MCP: FeatureDisabled = FeatureDisabled {
    what: "MCP",
    feature: "mcp",
};

/// Whether this build can serve MCP clients.
pub const AVAILABLE: Result<(), FeatureDisabled> = Err(MCP);

/// Always fails.
///
/// # Errors
/// Always.
#[allow(clippy::unused_async)] // Same signature as the enabled variant.
pub async fn stdio(_: Arc<dyn McpBackend>) -> io::Result<()> {
    Err(io::Error::new(io::ErrorKind::Unsupported, MCP))
}

/// Disabled endpoint.
#[derive(Clone, Debug)]
pub struct HttpTransport;

impl HttpTransport {
    /// Creates an endpoint that only reports that the feature is disabled.
    #[must_use]
    pub fn new(_: Arc<dyn McpBackend>, _: usize) -> Self {
        HttpTransport
    }

    /// Responds that the feature is disabled.
    #[allow(clippy::unused_async)] // Same signature as the enabled variant.
    pub async fn answer<B>(&self, _: Request<B>) -> HttpAnswer {
        let mut answer = Response::new(Full::from(MCP.to_string()).boxed());
        *answer.status_mut() = StatusCode::NOT_IMPLEMENTED;
        answer
    }
}
