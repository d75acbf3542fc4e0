//! One connection: HTTP/1.1 over TCP, watched so that nobody can hold it for
//! nothing.
//!
//! hyper can bound the time for headers by itself, at the price of a timer for
//! each request, and it counts an unused connection as slow headers. Here one
//! timer for each connection looks now and then at what the connection is doing.

use std::convert::Infallible;
use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use axum::body::Body;
use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::stream::{FuturesUnordered, StreamExt};
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::task::unconstrained;
use tokio_util::sync::CancellationToken;

use crate::app::App;
use crate::config::ServerConfig;
use crate::fast_router::FastRouter;
use crate::middleware;

/// Largest head of a request, in bytes; hyper answers 431 beyond it.
pub(crate) const HEAD_BYTES: usize = 64 << 10;

/// How often a connection is looked at, at most.
const LOOK: Duration = Duration::from_secs(1);

/// Serves one connection until either side ends it.
pub(crate) async fn serve(
    app: Arc<App>,
    entry: FastRouter,
    stream: TcpStream,
    peer: SocketAddr,
    stops: ShutdownSignals,
) {
    // A small answer must not wait for the acknowledgement of the one before.
    let _ = stream.set_nodelay(true);
    let pulse = Arc::new(ConnectionActivity::new());
    let io = TokioIo::new(TrackedStream {
        stream,
        pulse: pulse.clone(),
    });
    let known = middleware::CachedHost::default();
    let service = service_fn(|request| {
        pulse.answering();
        let (app, entry, pulse, known) = (&app, entry.clone(), &pulse, &known);
        async move {
            let response = middleware::answer(app, entry, (peer, known), request).await;
            let answer = |body| TrackedBody {
                body,
                pulse: pulse.clone(),
            };
            Ok::<_, Infallible>(response.map(answer))
        }
    });
    let mut builder = http1::Builder::new();
    // A client that closes its side has left, and its answer is dropped. `pipeline_flush` stays
    // off: with it hyper takes a whole stream from us for a client that reads none of it.
    builder.max_buf_size(HEAD_BYTES).half_close(false);
    let connection = builder.serve_connection(io, service);
    tokio::pin!(connection);
    // Each of these is looked at when it was woken, and not with every request;
    // unconstrained, so that a connection which is never at rest cannot starve them.
    let mut asides: FuturesUnordered<_> = [
        pulse.watch(&app.config).boxed(),
        stops
            .cut
            .cancelled()
            .map(|()| ConnectionEvent::Close("cut off"))
            .boxed(),
        stops
            .finish
            .cancelled()
            .map(|()| ConnectionEvent::Finish)
            .boxed(),
    ]
    .into_iter()
    .collect();
    loop {
        tokio::select! {
            biased;
            ended = connection.as_mut() => {
                if let Err(error) = ended {
                    tracing::debug!(%peer, %error, "connection ended");
                }
                return;
            }
            Some(aside) = unconstrained(asides.next()) => {
                if let ConnectionEvent::Close(reason) = aside {
                    tracing::debug!(%peer, reason, "connection closed");
                    return;
                }
                connection.as_mut().graceful_shutdown();
            }
        }
    }
}

/// What the server asks of a connection.
pub(crate) struct ShutdownSignals {
    /// To end after what it is answering.
    pub(crate) finish: CancellationToken,
    /// To end at once.
    pub(crate) cut: CancellationToken,
}

/// What can happen to a connection besides requests.
enum ConnectionEvent {
    Finish,
    Close(&'static str),
}

/// What a connection is doing. Atomics, since its task may move between threads; relaxed, since no
/// other task touches them.
#[derive(Debug)]
struct ConnectionActivity {
    started: Instant,
    phase: AtomicU8,
    /// When the phase began, in milliseconds after the start.
    since: AtomicU64,
    /// When the client stopped taking bytes; 0 while it takes them.
    blocked: AtomicU64,
}

/// Waiting for a request.
const IDLE: u8 = 0;
/// Some bytes of a request have come.
const HEAD: u8 = 1;
/// A request is being answered.
const ANSWERING: u8 = 2;

impl ConnectionActivity {
    fn new() -> Self {
        ConnectionActivity {
            started: Instant::now(),
            // From the first moment on, since a connection that sends nothing holds a place, too.
            phase: AtomicU8::new(HEAD),
            since: AtomicU64::new(0),
            blocked: AtomicU64::new(0),
        }
    }

    /// Milliseconds since the start, from 1: 0 stands for never.
    fn now(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis())
            .unwrap_or(u64::MAX)
            .saturating_add(1)
    }

    fn enter(&self, phase: u8) {
        self.since.store(self.now(), Ordering::Relaxed);
        self.phase.store(phase, Ordering::Relaxed);
    }

    fn answering(&self) {
        self.phase.store(ANSWERING, Ordering::Relaxed);
    }

    fn arrived(&self) {
        if self.phase.load(Ordering::Relaxed) == IDLE {
            self.enter(HEAD);
        }
    }

    fn wrote(&self, taken: bool) {
        let blocked = self.blocked.load(Ordering::Relaxed) != 0;
        match (taken, blocked) {
            (true, true) => self.blocked.store(0, Ordering::Relaxed),
            (false, false) => self.blocked.store(self.now(), Ordering::Relaxed),
            _ => {}
        }
    }

    /// Ready with a reason when the connection has held one state for too long.
    async fn watch(&self, config: &ServerConfig) -> ConnectionEvent {
        let shortest = config
            .header_time
            .min(config.idle_time)
            .min(config.write_time);
        let look = (shortest / 4).clamp(Duration::from_millis(10), LOOK);
        loop {
            tokio::time::sleep(look).await;
            if let Some(reason) = self.overdue(config) {
                return ConnectionEvent::Close(reason);
            }
        }
    }

    fn overdue(&self, config: &ServerConfig) -> Option<&'static str> {
        let now = self.now();
        let longer = |since: &AtomicU64, time: Duration| {
            let millis = now.saturating_sub(since.load(Ordering::Relaxed));
            Duration::from_millis(millis) > time
        };
        if self.blocked.load(Ordering::Relaxed) != 0 && longer(&self.blocked, config.write_time) {
            return Some("the client takes nothing of its answer (write_time)");
        }
        match self.phase.load(Ordering::Relaxed) {
            IDLE if longer(&self.since, config.idle_time) => Some("unused (idle_time)"),
            HEAD if longer(&self.since, config.header_time) => Some("slow headers (header_time)"),
            _ => None,
        }
    }
}

/// A socket that reports to the pulse what passes.
struct TrackedStream {
    stream: TcpStream,
    pulse: Arc<ConnectionActivity>,
}

impl AsyncRead for TrackedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        if read.is_ready() {
            self.pulse.arrived();
        }
        read
    }
}

impl AsyncWrite for TrackedStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.pulse.wrote(written.is_ready());
        written
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.pulse.wrote(written.is_ready());
        written
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

/// A body that makes its connection idle when it is gone: sent, or given up.
struct TrackedBody {
    body: Body,
    pulse: Arc<ConnectionActivity>,
}

impl Drop for TrackedBody {
    fn drop(&mut self) {
        self.pulse.enter(IDLE);
    }
}

impl HttpBody for TrackedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
