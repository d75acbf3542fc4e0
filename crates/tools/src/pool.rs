//! Pool of MCP servers that stay open between requests and are closed when idle.

use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use quillet_core::lock::lock;

use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

use crate::mcp::McpServer;

/// Maximum number of pooled sessions. Requests choose servers freely; the least recently used one
/// is evicted.
const MOST: usize = 128;

/// The pool.
#[derive(Debug)]
pub(crate) struct Pool {
    idle: Duration,
    kept: Arc<Mutex<PoolState>>,
}

#[derive(Debug, Default)]
struct PoolState {
    /// Servers with the time of their last known use, oldest first.
    servers: Vec<(Arc<McpServer>, Instant)>,
    /// Task that closes idle servers; runs while the pool is not empty.
    sweeper: Option<AbortOnDropHandle<()>>,
}

impl Pool {
    /// Creates a pool that closes servers after being idle for `idle`.
    pub(crate) fn new(idle: Duration) -> Self {
        Pool {
            idle,
            kept: Arc::default(),
        }
    }

    /// Adds a server. Must be called inside a Tokio runtime.
    pub(crate) fn keep(&self, server: &Arc<McpServer>) {
        let mut kept = lock(&self.kept);
        kept.servers
            .retain(|(other, _)| !Arc::ptr_eq(other, server));
        if kept.servers.len() >= MOST {
            // Callers that still use the server keep it open through their own reference.
            kept.servers.remove(0);
        }
        kept.servers.push((server.clone(), Instant::now()));
        // The sweeper ends when the pool is empty, and may have to be restarted.
        let running = kept
            .sweeper
            .as_ref()
            .is_some_and(|task| !task.is_finished());
        if !running {
            let sweeping = sweep(Arc::downgrade(&self.kept), self.idle);
            kept.sweeper = Some(AbortOnDropHandle::new(tokio::spawn(sweeping)));
        }
    }
}

/// Closes idle servers until the pool is empty.
async fn sweep(kept: Weak<Mutex<PoolState>>, idle: Duration) {
    // The minimum keeps a tiny idle time from causing a busy loop.
    let pause = (idle / 2).max(Duration::from_millis(50));
    loop {
        tokio::time::sleep(pause).await;
        let Some(kept) = kept.upgrade() else { return };
        // The servers are dropped after the lock is released, because ending a session takes a
        // moment.
        let gone = {
            let mut kept = lock(&kept);
            let gone = kept.expired(idle);
            if kept.servers.is_empty() {
                // Drops the handle of this very task, which therefore ends at its next `await`.
                kept.sweeper = None;
            }
            gone
        };
        drop(gone);
    }
}

impl PoolState {
    fn expired(&mut self, idle: Duration) -> Vec<Arc<McpServer>> {
        let now = Instant::now();
        let (mut stay, mut gone) = (Vec::new(), Vec::new());
        for (server, seen) in self.servers.drain(..) {
            // If another reference exists, the server is in use.
            let seen = if Arc::strong_count(&server) > 1 {
                now
            } else {
                seen
            };
            if now.duration_since(seen) >= idle {
                gone.push(server)
            } else {
                stay.push((server, seen))
            }
        }
        self.servers = stay;
        gone
    }
}
