//! The listening port: binding, accepting connections and graceful shutdown.

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

/// Pause after a failed accept, for example when file descriptors are exhausted.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// An error that prevents the server from starting.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// The address is in use or does not belong to this machine.
    #[error("cannot listen on {address}: {source}")]
    Bind {
        /// The address.
        address: SocketAddr,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The address is reachable from other machines, but no token is configured.
    #[error(
        "{0} is reachable from other machines, but no token is configured: set server.tokens or server.token.NAME, listen on 127.0.0.1, or set server.insecure"
    )]
    Open(SocketAddr),
    /// The prefix is not a path.
    #[error(
        "invalid prefix {0:?}: it must start with a slash, must not end with one, and cannot contain braces, spaces, ? or #"
    )]
    Prefix(String),
    /// An entry of [`ServerConfig::hosts`] is not a name.
    #[error(
        "invalid name {0:?} in server.hosts: write NAME, NAME:PORT, *.NAME or *, without a scheme, and non-ASCII names in their xn-- form"
    )]
    Host(String),
    /// A token that cannot be sent or that equals another one.
    #[error("the token {name:?} {why}")]
    Token {
        /// The configured name, or `token-1` for the first of [`ServerConfig::tokens`].
        name: String,
        /// The reason.
        why: &'static str,
    },
}

impl ServerError {
    /// Returns the error code, which does not change between versions.
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

/// An HTTP server with an open port.
#[derive(Debug)]
pub struct HttpServer {
    listener: TcpListener,
    address: SocketAddr,
    app: Arc<App>,
    entry: FastRouter,
}

impl HttpServer {
    /// Opens the port for a prompt service or for all [`Services`].
    ///
    /// The caller loads the service and polls
    /// [`PromptService::watch`](quillet_prompt::PromptService::watch). Until the first load
    /// succeeds, `/readyz` returns 503.
    ///
    /// # Errors
    /// Fails if the configuration is unsafe or invalid, or if the address is in use.
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

    /// Returns the listening address. If port 0 was configured, the address contains the actual
    /// port.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Returns the OpenAPI document that `/openapi.json` serves.
    #[must_use]
    pub fn openapi(&self) -> &str {
        self.app.openapi()
    }

    /// Serves until `shutdown` is ready.
    ///
    /// After that, `/readyz` and new requests get 503, and open responses have
    /// [`ServerConfig::drain_time`] to finish. Dropping the future closes all connections.
    ///
    /// Returns the number of connections that were closed forcibly.
    pub async fn run(self, shutdown: impl Future<Output = ()>) -> usize {
        let HttpServer {
            listener,
            app,
            entry,
            ..
        } = self;
        let port = Port {
            // A semaphore delays `accept` at the limit, so that clients wait in the backlog instead
            // of being refused.
            places: Arc::new(Semaphore::new(app.config.connections)),
            connections: TaskTracker::new(),
            stop: CancellationToken::new(),
            cut: CancellationToken::new(),
            app,
            entry,
        };
        // Dropping this future must close all connections and end the batch worker. The guard does
        // this even if the caller cancels `run` during an await.
        let _cut = port.cut.clone().drop_guard();
        let agents = port.app.agents.clone();
        let watching = agents.map(|agents| tokio::spawn(response::watch(agents)));
        // A JoinHandle would detach the task on drop, but the watcher must stop with the server.
        let _watching = watching.map(AbortOnDropHandle::new);
        let mut batches = port.work_on_batches();
        tokio::select! {
            // `accept` never returns: its return type has no values, so the match has no arms.
            never = port.accept(&listener) => match never {},
            () = shutdown => {}
        }
        port.drain(&listener, &mut batches).await
    }
}

/// The state of a server that accepts connections.
struct Port {
    app: Arc<App>,
    entry: FastRouter,
    places: Arc<Semaphore>,
    connections: TaskTracker,
    /// Asks connections to close after their current response.
    stop: CancellationToken,
    /// Closes all connections immediately.
    cut: CancellationToken,
}

impl Port {
    async fn accept(&self, listener: &TcpListener) -> std::convert::Infallible {
        loop {
            // The semaphore is never closed, so a permit becomes available eventually.
            let place = self.places.clone().acquire_owned().await;
            match listener.accept().await {
                Ok((stream, peer)) => self.spawn(stream, peer, place),
                Err(error) => {
                    tracing::warn!(%error, "cannot accept a connection");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }

    fn spawn<P: Send + 'static>(&self, stream: TcpStream, peer: SocketAddr, place: P) {
        let (app, entry) = (self.app.clone(), self.entry.clone());
        // Each connection gets child tokens, because checking a shared token locks it.
        let stops = ShutdownSignals {
            finish: self.stop.child_token(),
            cut: self.cut.child_token(),
        };
        self.connections.spawn(async move {
            let _open = ConnectionGuard::new(&app);
            connection::serve(app.clone(), entry, stream, peer, stops).await;
            // The permit belongs to the open connection, so release it only now.
            drop(place);
        });
    }

    /// Waits for open responses and keeps accepting connections, so that probes and clients receive
    /// a reason and not a refused connection.
    async fn drain(self, listener: &TcpListener, batches: &mut Option<JoinHandle<()>>) -> usize {
        self.app.stop();
        self.stop.cancel();
        // The tracker reports completion only after it is closed. Connections that are accepted
        // later are still tracked.
        self.connections.close();
        tracing::info!(connections = self.connections.len(), "shutting down");
        tokio::select! {
            biased;
            // This branch is polled first, so that an idle server closes nothing by force, even if
            // the drain time is zero.
            () = self.work_done(batches) => return 0,
            () = tokio::time::sleep(self.app.config.drain_time) => {}
            never = self.accept(listener) => match never {},
        }
        let cut = self.connections.len();
        tracing::warn!(
            connections = cut,
            "drain_time exceeded, closing the remaining connections"
        );
        // Close the remaining connections by force. A client that never reads must not delay the
        // shutdown forever.
        self.cut.cancel();
        self.connections.wait().await;
        ended(batches).await;
        cut
    }

    /// Starts the batch worker in its own task.
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
    /// Waits for all connections, batch rows and agent runs.
    async fn work_done(&self, batches: &mut Option<JoinHandle<()>>) {
        self.connections.wait().await;
        ended(batches).await;
        if let Some(agents) = &self.app.agents {
            agents.finish().await;
        }
    }
}

/// Waits for a task to succeed, panic or be aborted.
async fn ended(task: &mut Option<JoinHandle<()>>) {
    if let Some(running) = task {
        // The task has already reported a panic of the worker, and the shutdown continues in both
        // cases.
        let _ = running.await;
        *task = None;
    }
}

/// Counts an open connection until it is dropped.
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
    // Check before binding, so that an unprotected server never listens.
    let is_open = !config.listen.ip().is_loopback() && !config.has_tokens();
    if is_open && !config.insecure {
        return Err(ServerError::Open(config.listen));
    }
    let prefix = config.prefix.as_str();
    // `{}`, `*` and `:` are or were syntax of the router, and `?` and `#` end a path.
    let odd =
        prefix.contains(|c: char| c.is_whitespace() || c.is_control() || "{}?#*:".contains(c));
    let whole = prefix.starts_with('/') && !prefix.ends_with('/') && !prefix.contains("//");
    if !prefix.is_empty() && (odd || !whole) {
        return Err(ServerError::Prefix(prefix.to_owned()));
    }
    auth::check(config).map_err(|(name, why)| ServerError::Token { name, why })
}
