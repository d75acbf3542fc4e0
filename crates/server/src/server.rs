//! The port: binding it, accepting connections, and stopping without cutting
//! anybody off.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use quillet_core::ErrorCode;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::{AbortOnDropHandle, TaskTracker};

use crate::api::response;
use crate::app::App;
use crate::batch::Worker;
use crate::config::ServerConfig;
use crate::connection::ShutdownSignals;
use crate::fast_router::FastRouter;
use crate::host::Hosts;
use crate::services::Services;
use crate::{auth, connection, routes};

/// How long to wait after the system refused to accept (out of file descriptors, say).
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The error of a server that cannot start.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// The address is taken, or not this machine's.
    #[error("cannot listen on {address}: {source}")]
    Bind {
        /// The address.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// Others could call without a token.
    #[error(
        "{0} can be reached from other machines and no token is configured: set server.tokens or server.token.NAME, listen on 127.0.0.1, or say that this is meant with server.insecure"
    )]
    Open(SocketAddr),
    /// The prefix is no path.
    #[error(
        "the prefix {0:?} is not a path: it begins with a slash, ends without one, and has no braces, spaces, ? or #"
    )]
    Prefix(String),
    /// An entry of [`ServerConfig::hosts`] is not a name.
    #[error(
        "{0:?} in server.hosts is no name: write NAME, NAME:PORT, *.NAME or *, without a scheme; names beyond ASCII in their xn-- form"
    )]
    Host(String),
    /// A token cannot be sent, or cannot be told from another.
    #[error("the token {name:?} {why}")]
    Token {
        /// Its name: its own, or `token-1` for the first of [`ServerConfig::tokens`].
        name: String,
        /// What is wrong with it.
        why: &'static str,
    },
}

impl ServerError {
    /// Stable code.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        match self {
            ServerError::Bind { .. } => ErrorCode::ServerBind,
            ServerError::Open(_) => ErrorCode::ServerOpen,
            ServerError::Prefix(_) => ErrorCode::ServerPrefix,
            ServerError::Host(_) => ErrorCode::ServerHost,
            ServerError::Token { .. } => ErrorCode::ServerToken,
        }
    }
}

/// A port that is open and not yet served.
#[derive(Debug)]
pub struct HttpServer {
    listener: TcpListener,
    address: SocketAddr,
    app: Arc<App>,
    entry: FastRouter,
}

impl HttpServer {
    /// Opens the port for a prompt service, or for all of [`Services`]. Loading the service, and
    /// polling [`PromptService::watch`](quillet_prompt::PromptService::watch), is the caller's
    /// part; until the first load has succeeded `/readyz` answers 503.
    ///
    /// # Errors
    /// The configuration is not safe or not sound, or the address is taken.
    pub async fn bind(
        config: ServerConfig,
        services: impl Into<Services>,
    ) -> Result<Self, ServerError> {
        check(&config)?;
        let hosts = Hosts::new(&config.hosts).map_err(ServerError::Host)?;
        let refused = |source| ServerError::Bind {
            address: config.listen,
            source,
        };
        let listener = TcpListener::bind(config.listen).await.map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?;
        let (app, entry) = routes::build(config, hosts, services.into());
        Ok(HttpServer {
            listener,
            address,
            app,
            entry,
        })
    }

    /// The address that it listens on; gives the port where 0 was asked for.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// The OpenAPI document, as `/openapi.json` answers it.
    #[must_use]
    pub fn openapi(&self) -> &str {
        self.app.openapi()
    }

    /// Serves until `shutdown` is ready. Then `/readyz` answers 503, new
    /// requests are refused with 503, and what is under way may finish, within
    /// [`ServerConfig::drain_time`]. Dropping the future cuts everything off.
    ///
    /// Returns how many connections had to be cut.
    pub async fn run(self, shutdown: impl Future<Output = ()>) -> usize {
        let HttpServer {
            listener,
            app,
            entry,
            ..
        } = self;
        let port = Port {
            places: Arc::new(Semaphore::new(app.config.connections)),
            connections: TaskTracker::new(),
            stop: CancellationToken::new(),
            cut: CancellationToken::new(),
            app,
            entry,
        };
        let _cut = port.cut.clone().drop_guard();
        let agents = port.app.agents.clone();
        let watching = agents.map(|agents| tokio::spawn(response::watch(agents)));
        let _watching = watching.map(AbortOnDropHandle::new);
        let mut batches = port.work_on_batches();
        tokio::select! {
            never = port.accept(&listener) => match never {},
            () = shutdown => {}
        }
        port.drain(&listener, &mut batches).await
    }
}

/// A port while it is served.
struct Port {
    app: Arc<App>,
    entry: FastRouter,
    places: Arc<Semaphore>,
    connections: TaskTracker,
    /// Asks connections to end after what they are answering.
    stop: CancellationToken,
    /// Ends them at once.
    cut: CancellationToken,
}

impl Port {
    async fn accept(&self, listener: &TcpListener) -> std::convert::Infallible {
        loop {
            // Closed nowhere, so there is always a place in the end.
            let place = self.places.clone().acquire_owned().await;
            match listener.accept().await {
                Ok((stream, peer)) => self.spawn(stream, peer, place),
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }

    fn spawn<P: Send + 'static>(&self, stream: TcpStream, peer: SocketAddr, place: P) {
        let (app, entry) = (self.app.clone(), self.entry.clone());
        // Children, since looking at a token locks it.
        let stops = ShutdownSignals {
            finish: self.stop.child_token(),
            cut: self.cut.child_token(),
        };
        self.connections.spawn(async move {
            let _open = ConnectionGuard::new(&app);
            connection::serve(app.clone(), entry, stream, peer, stops).await;
            // Held until here: places are for connections that are open.
            drop(place);
        });
    }

    /// Lets answers finish, and goes on accepting meanwhile, so that probes see
    /// why and clients get a reason and not a refused connection.
    async fn drain(self, listener: &TcpListener, batches: &mut Option<JoinHandle<()>>) -> usize {
        self.app.stop();
        self.stop.cancel();
        self.connections.close();
        tracing::info!(connections = self.connections.len(), "shutting down");
        tokio::select! {
            biased;
            // First, so that a server at rest ends with nothing cut off even without time to drain.
            () = self.work_done(batches) => return 0,
            () = tokio::time::sleep(self.app.config.drain_time) => {}
            never = self.accept(listener) => match never {},
        }
        let cut = self.connections.len();
        tracing::warn!(connections = cut, "cut off at the limit on drain_time");
        self.cut.cancel();
        self.connections.wait().await;
        ended(batches).await;
        cut
    }

    /// Rows of batches, in a task of their own.
    fn work_on_batches(&self) -> Option<JoinHandle<()>> {
        let batching = self.app.batching.clone()?;
        if !batching.options.work {
            return None;
        }
        let worker = Worker::new(self.app.clone(), batching, self.cut.child_token());
        Some(tokio::spawn(worker.run(self.stop.child_token())))
    }
}

impl Port {
    /// Ready when all connections have ended, what agents still had to do, and rows of batches.
    async fn work_done(&self, batches: &mut Option<JoinHandle<()>>) {
        self.connections.wait().await;
        ended(batches).await;
        if let Some(agents) = &self.app.agents {
            agents.finish().await;
        }
    }
}

/// Ready when a task has ended, however.
async fn ended(task: &mut Option<JoinHandle<()>>) {
    if let Some(running) = task {
        let _ = running.await;
        *task = None;
    }
}

/// Counts a connection for as long as it lives.
struct ConnectionGuard(Arc<App>);

impl ConnectionGuard {
    fn new(app: &Arc<App>) -> Self {
        app.metrics.connections.fetch_add(1, Ordering::Relaxed);
        ConnectionGuard(app.clone())
    }
}

impl Drop for ConnectionGuard {
    fn drop(&mut self) {
        let open: &AtomicU64 = &self.0.metrics.connections;
        open.fetch_sub(1, Ordering::Relaxed);
    }
}

fn check(config: &ServerConfig) -> Result<(), ServerError> {
    let is_open = !config.listen.ip().is_loopback() && !config.has_tokens();
    if is_open && !config.insecure {
        return Err(ServerError::Open(config.listen));
    }
    let prefix = config.prefix.as_str();
    let odd =
        prefix.contains(|c: char| c.is_whitespace() || c.is_control() || "{}?#*:".contains(c));
    let whole = prefix.starts_with('/') && !prefix.ends_with('/') && !prefix.contains("//");
    if !prefix.is_empty() && (odd || !whole) {
        return Err(ServerError::Prefix(prefix.to_owned()));
    }
    auth::check(config).map_err(|(name, why)| ServerError::Token { name, why })
}
