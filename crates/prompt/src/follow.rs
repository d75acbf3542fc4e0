//! Subscribes to a store's changes. Callers can wait until the changes are applied.

use std::fmt;

use futures_util::{FutureExt, StreamExt};
use quillet_core::store::{Changes, StoreChange};
use tokio::sync::{Mutex, mpsc, oneshot};
use tokio::task::unconstrained;

/// Requests to a follower to confirm that it has applied its changes so far.
#[derive(Debug)]
pub(crate) struct SyncRequests {
    sender: mpsc::UnboundedSender<oneshot::Sender<()>>,
    /// Locked by the active follower.
    receiver: Mutex<mpsc::UnboundedReceiver<oneshot::Sender<()>>>,
}

impl Default for SyncRequests {
    fn default() -> Self {
        let (sender, receiver) = mpsc::unbounded_channel();
        SyncRequests {
            sender,
            receiver: Mutex::new(receiver),
        }
    }
}

impl SyncRequests {
    /// Waits until the follower has applied all changes received before this call. Returns `false`
    /// if there is no follower.
    pub(crate) async fn is_caught_up(&self) -> bool {
        // A follower holds this lock for its whole lifetime.
        if self.receiver.try_lock().is_ok() {
            return false;
        }
        let (sender, answer) = oneshot::channel();
        self.sender.send(sender).is_ok() && answer.await.is_ok()
    }

    /// Starts a follower. Requests sent to an earlier follower are not answered.
    pub(crate) async fn follow(&self, changes: Changes) -> ChangeFollower<'_> {
        let asks = self.receiver.lock().await;
        ChangeFollower {
            changes,
            asks,
            waiting: Vec::new(),
        }
    }
}

/// Reads changes in batches: each batch contains all changes that are ready.
pub(crate) struct ChangeFollower<'a> {
    changes: Changes,
    asks: tokio::sync::MutexGuard<'a, mpsc::UnboundedReceiver<oneshot::Sender<()>>>,
    /// Requests to confirm after the current batch is applied.
    waiting: Vec<oneshot::Sender<()>>,
}

impl fmt::Debug for ChangeFollower<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Follower").finish_non_exhaustive()
    }
}

impl ChangeFollower<'_> {
    /// Returns the next batch of changes, and waits for the first one. A call confirms that the
    /// previous batch is applied. Returns `None` when the stream of changes has ended.
    pub(crate) async fn next(&mut self) -> Option<Vec<StoreChange>> {
        loop {
            for asked in self.waiting.drain(..) {
                // The receiver may have been dropped.
                let _ = asked.send(());
            }
            let mut told = Vec::new();
            tokio::select! {
                change = self.changes.next() => told.push(change?),
                asked = self.asks.recv() => self.waiting.extend(asked),
            }
            // Requests are collected before the changes, so that every change received before a
            // request is in the same batch.
            while let Ok(asked) = self.asks.try_recv() {
                self.waiting.push(asked);
            }
            // The future is not subject to Tokio's cooperative budget, which could make a ready
            // change look pending.
            while let Some(change) = unconstrained(self.changes.next()).now_or_never() {
                told.push(change?);
            }
            if !told.is_empty() {
                return Some(told);
            }
        }
    }
}
