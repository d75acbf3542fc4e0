//! One connection: HTTP/1.1 over TCP, with timeouts for every phase.
//!
//! hyper has its own header timeout, but it costs a timer per request and treats an idle connection
//! as slow headers. Here one timer per connection checks its current phase.

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

/// The longest interval between two checks of a connection.
const LOOK: Duration = Duration::from_secs(1);

/// Serves one connection until either side ends it.
pub(crate) async fn serve(
    app: Arc<App>,
    entry: FastRouter,
    stream: TcpStream,
    peer: SocketAddr,
    stops: ShutdownSignals,
) {
    // A small response must not wait for the TCP acknowledgement of the previous one.
    let _ = stream.set_nodelay(true);
    let pulse = Arc::new(ConnectionActivity::new());
    let io = TokioIo::new(TrackedStream {
        stream,
        pulse: pulse.clone(),
    });
    let known = middleware::CachedHost::default();
    let service = service_fn(|request| {
        pulse.start_response();
        let (app, entry, pulse, known) = (&app, entry.clone(), &pulse, &known);
        async move {
            let response = middleware::answer(app, entry, peer, known, request).await;
            let answer = |body| TrackedBody {
                body,
                pulse: pulse.clone(),
            };
            Ok::<_, Infallible>(response.map(answer))
        }
    });
    let mut builder = http1::Builder::new();
    // A half-closed client counts as disconnected, and its response is dropped. `pipeline_flush`
    // stays off, because hyper would buffer a whole stream for a client that does not read it.
    builder
        .max_buf_size(middleware::HEAD_BYTES)
        .half_close(false);
    let connection = builder.serve_connection(io, service);
    tokio::pin!(connection);
    // Poll each future only when it is woken, instead of with every request. Without
    // `unconstrained`, a busy connection would use up the task's budget and starve these futures.
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
                // hyper finishes the current response and disables keep-alive. The loop continues
                // until hyper is done.
                connection.as_mut().graceful_shutdown();
            }
        }
    }
}

/// Signals from the server to a connection.
pub(crate) struct ShutdownSignals {
    /// Close after the current response.
    pub(crate) finish: CancellationToken,
    /// Close immediately.
    pub(crate) cut: CancellationToken,
}

/// A timeout or a signal of the server.
enum ConnectionEvent {
    Finish,
    Close(&'static str),
}

/// The phase of a connection. It is atomic because its task may move between threads, and relaxed
/// because no other task accesses it.
#[derive(Debug)]
struct ConnectionActivity {
    started: Instant,
    phase: AtomicU8,
    /// The beginning of the phase, in milliseconds after the start.
    since: AtomicU64,
    /// The time when the client stopped reading, or 0 while it reads.
    blocked: AtomicU64,
}

/// Waiting for a request.
const IDLE: u8 = 0;
/// Some bytes of a request have arrived.
const HEAD: u8 = 1;
/// A response is in progress.
const ANSWERING: u8 = 2;

impl ConnectionActivity {
    fn new() -> Self {
        ConnectionActivity {
            started: Instant::now(),
            // A new connection starts in the header phase, because a client that sends nothing also
            // occupies a slot.
            phase: AtomicU8::new(HEAD),
            since: AtomicU64::new(0),
            blocked: AtomicU64::new(0),
        }
    }

    /// Returns the milliseconds since the start. The minimum is 1, because 0 means never.
    fn now(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis())
            .unwrap_or(u64::MAX)
            .saturating_add(1)
    }

    fn enter(&self, phase: u8) {
        self.since.store(self.now(), Ordering::Relaxed);
        self.phase.store(phase, Ordering::Relaxed);
    }

    fn start_response(&self) {
        self.phase.store(ANSWERING, Ordering::Relaxed);
    }

    fn record_read(&self) {
        if self.phase.load(Ordering::Relaxed) == IDLE {
            self.enter(HEAD);
        }
    }

    fn record_write(&self, taken: bool) {
        let blocked = self.blocked.load(Ordering::Relaxed) != 0;
        // Written only on a change, because reading the clock for each write would be too
        // expensive.
        match (taken, blocked) {
            (true, true) => self.blocked.store(0, Ordering::Relaxed),
            (false, false) => self.blocked.store(self.now(), Ordering::Relaxed),
            _ => {}
        }
    }

    /// Completes with the reason when the connection exceeds a timeout.
    async fn watch(&self, config: &ServerConfig) -> ConnectionEvent {
        let shortest = config
            .header_time
            .min(config.idle_time)
            .min(config.write_time);
        // A quarter of the shortest timeout limits the error to 25 %, and tests with short timeouts
        // still finish in time.
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
            return Some("the client reads none of its response (write_time)");
        }
        match self.phase.load(Ordering::Relaxed) {
            IDLE if longer(&self.since, config.idle_time) => Some("idle (idle_time)"),
            HEAD if longer(&self.since, config.header_time) => Some("slow headers (header_time)"),
            _ => None,
        }
    }
}

/// A socket that records reads and writes as activity.
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
        // Record the end of input as well, because hyper then closes the connection.
        if read.is_ready() {
            self.pulse.record_read();
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
        self.pulse.record_write(written.is_ready());
        written
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.pulse.record_write(written.is_ready());
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

/// A response body that marks its connection as idle on drop, whether or not it was sent.
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
