//! A socket with a read quota. The driver's library buffers a whole row before it returns it, so a
//! row of a gigabyte can be rejected only below the library.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Number of bytes that may still be read. Clones share one count.
#[derive(Clone, Debug)]
pub(super) struct ReadQuota(Arc<AtomicU64>);

impl ReadQuota {
    pub(super) fn new(bytes: u64) -> Self {
        ReadQuota(Arc::new(AtomicU64::new(bytes)))
    }

    /// Sets the number of bytes that may be read from now on.
    pub(super) fn allow(&self, bytes: u64) {
        self.0.store(bytes, Ordering::Relaxed);
    }

    /// Returns whether reading stopped because the quota is used up.
    pub(super) fn is_used_up(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }

    fn count(&self, bytes: usize) {
        let rest = |left: u64| Some(left.saturating_sub(bytes as u64));
        let _ = self
            .0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, rest);
    }
}

trait AsyncSocket: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> AsyncSocket for T {}

/// A connected socket.
pub(super) struct Socket {
    wire: Box<dyn AsyncSocket>,
    meter: ReadQuota,
}

impl Socket {
    /// Connects to a server. A host that starts with `/` is the directory of its Unix socket.
    pub(super) async fn connect(host: &str, port: u16, meter: ReadQuota) -> io::Result<Self> {
        let wire: Box<dyn AsyncSocket> = if host.starts_with('/') {
            unix(&format!("{host}/.s.PGSQL.{port}")).await?
        } else {
            let stream = tokio::net::TcpStream::connect((host, port)).await?;
            // Requests are small and pipelined. Without this option, each request would be delayed
            // until a packet is full.
            stream.set_nodelay(true)?;
            Box::new(stream)
        };
        Ok(Socket { wire, meter })
    }
}

#[cfg(unix)]
async fn unix(path: &str) -> io::Result<Box<dyn AsyncSocket>> {
    Ok(Box::new(tokio::net::UnixStream::connect(path).await?))
}

#[cfg(not(unix))]
async fn unix(path: &str) -> io::Result<Box<dyn AsyncSocket>> {
    Err(io::Error::other(format!(
        "{path}: this system has no Unix sockets"
    )))
}

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.meter.is_used_up() {
            return Poll::Ready(Err(io::Error::other("read limit reached")));
        }
        // Bytes are counted after the read, so one read may exceed the quota by the size of the
        // buffer.
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.wire).poll_read(cx, buffer);
        self.meter.count(buffer.filled().len() - before);
        polled
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.wire).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.wire).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.wire).poll_shutdown(cx)
    }
}
