//! Streamable HTTP transport: one address that accepts JSON-RPC messages by POST.

use std::sync::Arc;

use hyper::Request;
use hyper::body::Body;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};

use super::handler::Handler;
use crate::serve::{HttpAnswer, McpBackend};

/// Endpoint for MCP clients on an HTTP server. The caller must control access, because hosts,
/// origins and keys are not checked here.
#[derive(Clone)]
pub struct HttpTransport(StreamableHttpService<Handler, NeverSessionManager>);

impl HttpTransport {
    /// Creates an endpoint for this backend. Requests of more than `request_bytes` are rejected.
    #[must_use]
    pub fn new(offer: Arc<dyn McpBackend>, request_bytes: usize) -> Self {
        // Without sessions every request is independent, so replicas share no state. The newest
        // revision of the protocol has no sessions.
        let config = StreamableHttpServerConfig::default()
            .with_legacy_session_mode(false)
            .with_json_response(true)
            .with_max_request_body_bytes(request_bytes)
            .disable_allowed_hosts();
        let handler = move || Ok(Handler::new(offer.clone()));
        let sessions = Arc::new(NeverSessionManager::default());
        HttpTransport(StreamableHttpService::new(handler, sessions, config))
    }

    /// Answers one request.
    pub async fn answer<B>(&self, request: Request<B>) -> HttpAnswer
    where
        B: Body + Send + 'static,
        B::Data: Send + 'static,
        B::Error: std::fmt::Display,
    {
        self.0.handle(request).await
    }
}

impl std::fmt::Debug for HttpTransport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HttpDoor").finish_non_exhaustive()
    }
}
