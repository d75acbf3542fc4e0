//! An MCP server that lists its tools in several pages.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rmcp::ErrorData;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};

#[derive(Clone)]
struct Pages {
    pages: usize,
    /// Number of tools per page. A value above 1,000 means one tool with a description of that many
    /// bytes.
    each: usize,
    seen: Arc<AtomicUsize>,
}

impl ServerHandler for Pages {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        self.seen.fetch_add(1, Ordering::SeqCst);
        let cursor = request.and_then(|request| request.cursor);
        let page: usize = cursor.map_or(0, |cursor| cursor.parse().unwrap());
        let tool = |name: String, words: usize| {
            Tool::new(name, "x".repeat(words), Arc::new(serde_json::Map::new()))
        };
        let tools = match self.each {
            bytes @ 1_001.. => vec![tool(format!("t{page}"), bytes)],
            each => (0..each)
                .map(|number| tool(format!("t{page}_{number}"), 1))
                .collect(),
        };
        let mut result = ListToolsResult::with_all_items(tools);
        result.next_cursor = (page + 1 < self.pages).then(|| (page + 1).to_string());
        Ok(result)
    }
}

/// Starts the server and returns its URL.
pub(crate) async fn serve(pages: usize, each: usize, seen: Arc<AtomicUsize>) -> String {
    let handler = Pages { pages, each, seen };
    let service = StreamableHttpService::new(
        move || Ok(handler.clone()),
        Arc::new(LocalSessionManager::default()),
        StreamableHttpServerConfig::default(),
    );
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    // With Nagle's algorithm, each small response would wait for the previous acknowledgement.
    let listener = axum::serve::ListenerExt::tap_io(listener, |stream| {
        stream.set_nodelay(true).unwrap();
    });
    let app = axum::Router::new().fallback_service(service);
    tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
    url
}
