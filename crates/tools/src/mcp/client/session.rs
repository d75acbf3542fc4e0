//! One MCP server: its session, and the program behind it.

use std::fmt;
use std::process::Stdio;
use std::sync::{Arc, Mutex};

use quillet_core::lock::lock;
use quillet_core::tool::{ToolError, ToolErrorKind};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, ClientServiceExt, RoleClient, RunningService,
};
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess};
use secrecy::{ExposeSecret, SecretString};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::{ChildStderr, Command};

use super::failure::http_failure;
use super::handler::{McpClientHandler, McpSession, client};
use super::listing::{Listing, list};
use super::single_flight::{McpTimeouts, SharedConnect};
use super::sse::SseTransport;
use crate::config::McpWire;
use crate::http::Http;
use crate::mcp::Endpoint;

/// Server with its session; shared by all tools that refer to it. Dropping the last reference ends
/// the session and the program.
#[derive(Debug)]
pub(crate) struct McpServer {
    pub(crate) endpoint: Endpoint,
    pub(crate) response_bytes: usize,
    http: Arc<Http>,
    pub(super) patience: Arc<McpTimeouts>,
    session: SharedConnect<McpSession>,
    pub(super) listing: SharedConnect<Arc<Listing>>,
    /// Last line of the program's standard error.
    last_line: Arc<Mutex<String>>,
}

impl McpServer {
    pub(crate) fn new(
        endpoint: Endpoint,
        http: Arc<Http>,
        patience: Arc<McpTimeouts>,
        response_bytes: usize,
    ) -> Self {
        McpServer {
            endpoint,
            response_bytes,
            http,
            session: SharedConnect::new("greet", patience.clone()),
            listing: SharedConnect::new("list its tools", patience.clone()),
            patience,
            last_line: Arc::default(),
        }
    }

    /// Returns the session, and opens one if necessary.
    pub(crate) async fn session(&self) -> Result<McpSession, ToolError> {
        let serves = |session: &McpSession| !session.is_closed() && !session.is_transport_closed();
        self.session
            .get(&self.endpoint, serves, || self.open())
            .await
    }

    /// Initializes the server and lists its tools in the background, so that the first call finds
    /// both ready. Must be called inside a Tokio runtime.
    pub(crate) fn connect_ahead(self: &Arc<Self>) {
        let server = self.clone();
        tokio::spawn(async move {
            if let Err(error) = server.listing().await {
                tracing::warn!(%error, "an MCP server does not answer; retrying when it is needed");
            }
        });
    }

    /// Returns the current tools: listed again after a new session, a change notification, or a
    /// minute.
    pub(crate) async fn listing(self: &Arc<Self>) -> Result<Arc<Listing>, ToolError> {
        let session = self.session().await?;
        let changes = session.service().changes.clone();
        let serves = |listing: &Arc<Listing>| listing.holds(&changes);
        let make = || {
            let (endpoint, limit) = (self.endpoint.clone(), self.patience.start);
            let listing = list(session.clone(), self.response_bytes);
            async move {
                let listed = tokio::time::timeout(limit, listing).await;
                let failed = |kind, why: String| {
                    ToolError::new(kind, format!("{endpoint} did not list its tools: {why}"))
                };
                match listed {
                    Ok(Ok(listing)) => Ok(Arc::new(listing)),
                    Ok(Err((kind, why))) => Err(failed(kind, why)),
                    Err(_) => {
                        let why = format!("no answer within {limit:?} (tools.mcp_start_ms)");
                        Err(failed(ToolErrorKind::Timeout, why))
                    }
                }
            }
        };
        self.listing.get(&self.endpoint, serves, make).await
    }

    /// Opens a session in a separate task. The task does not borrow the server, so dropping the
    /// server ends it.
    fn open(&self) -> impl Future<Output = Result<McpSession, ToolError>> + Send + 'static {
        let (endpoint, http) = (self.endpoint.clone(), self.http.clone());
        let (start, last_line) = (self.patience.start, self.last_line.clone());
        async move {
            let greeted = tokio::time::timeout(start, greet(&endpoint, &http, &last_line)).await;
            let failed = |kind, why: &dyn fmt::Display| {
                let words = last_words(&last_line);
                ToolError {
                    kind,
                    message: format!("{endpoint} did not start: {why}{words}"),
                    for_model: "the tool cannot be reached".to_owned(),
                }
            };
            match greeted {
                Ok(Ok(session)) => Ok(Arc::new(session)),
                Ok(Err(StartError::Known(error))) => Err(error),
                Ok(Err(StartError::Failed(why))) => Err(failed(ToolErrorKind::Transport, &why)),
                Err(_) => {
                    let why = format!(
                        "no answer to initialize within {start:?} \
                        (tools.mcp_start_ms)"
                    );
                    Err(failed(ToolErrorKind::Timeout, &why))
                }
            }
        }
    }

    /// Last output of the program, for messages.
    pub(crate) fn last_words(&self) -> String {
        last_words(&self.last_line)
    }
}

fn last_words(line: &Mutex<String>) -> String {
    match lock(line).as_str() {
        "" => String::new(),
        line => format!(" (last output: {line})"),
    }
}

/// Error of a session that could not be opened.
enum StartError {
    /// Complete error.
    Known(ToolError),
    /// Problem without the server's name and last output, which are added to it.
    Failed(String),
}

impl From<ClientInitializeError> for StartError {
    fn from(error: ClientInitializeError) -> Self {
        if let ClientInitializeError::TransportError { error, .. } = &error
            && let Some(known) = http_failure(error)
        {
            return StartError::Known(known);
        }
        StartError::Failed(crate::network::error_chain(&error))
    }
}

async fn greet(
    endpoint: &Endpoint,
    http: &Arc<Http>,
    last_line: &Arc<Mutex<String>>,
) -> Result<RunningService<RoleClient, McpClientHandler>, StartError> {
    let mode = ClientLifecycleMode::Initialize;
    match endpoint {
        Endpoint::Program { command, args, env } => {
            let transport = spawn(command, args, env, last_line).map_err(StartError::Failed)?;
            Ok(client().serve_with_lifecycle(transport, mode).await?)
        }
        Endpoint::Address {
            wire: McpWire::Sse,
            url,
            headers,
        } => {
            let transport = SseTransport::open(http.clone(), url, headers);
            let transport = transport.await.map_err(StartError::Known)?;
            Ok(client().serve_with_lifecycle(transport, mode).await?)
        }
        Endpoint::Address { url, headers, .. } => {
            // The library sends these requests itself, so the URL is checked here; the client's
            // resolver checks the addresses.
            http.check(url).map_err(StartError::Known)?;
            let client_of_http = http.client().map_err(StartError::Known)?.clone();
            let headers = headers
                .iter()
                .map(|(name, value)| (name.clone(), value.clone()));
            let config = StreamableHttpClientTransportConfig::with_uri(url.as_str())
                .custom_headers(headers.collect());
            let transport = StreamableHttpClientTransport::with_client(client_of_http, config);
            Ok(client().serve_with_lifecycle(transport, mode).await?)
        }
    }
}

fn spawn(
    program: &str,
    args: &[String],
    env: &[(String, SecretString)],
    last_line: &Arc<Mutex<String>>,
) -> Result<TokioChildProcess, String> {
    let mut command = Command::new(program);
    // The program must not outlive its session.
    command.args(args).kill_on_drop(true);
    command.envs(
        env.iter()
            .map(|(name, value)| (name, value.expose_secret())),
    );
    let (transport, stderr) = TokioChildProcess::builder(command)
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("{error} (is {program:?} installed and in PATH?)"))?;
    if let Some(stderr) = stderr {
        // An unread pipe would fill up and block the program.
        tokio::spawn(listen(program.to_owned(), stderr, last_line.clone()));
    }
    Ok(transport)
}

/// Logs the program's standard error until it ends, and keeps the last line.
async fn listen(program: String, stderr: ChildStderr, last_line: Arc<Mutex<String>>) {
    const LONGEST: u64 = 4096;
    let mut reader = BufReader::new(stderr);
    loop {
        // The output is read in chunks, because a program that never ends its line must not exhaust
        // memory.
        let mut line = Vec::new();
        match (&mut reader)
            .take(LONGEST)
            .read_until(b'\n', &mut line)
            .await
        {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let line = String::from_utf8_lossy(&line).trim().to_owned();
        if !line.is_empty() {
            tracing::debug!(program, line, "MCP server");
            *lock(&last_line) = line;
        }
    }
}
