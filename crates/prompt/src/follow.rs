//! Following a store's changes, with a way to wait until they are applied.

use std::fmt;

use futures_util::{FutureExt, StreamExt};
use quillet_core::store::{Changes, StoreChange};
use tokio::sync::{Mutex, mpsc, oneshot};
use tokio::task::unconstrained;

/// Requests to a follower to confirm that it has applied its changes so far.
#[derive(Debug)]
pub(crate) struct SyncRequests {
    sender: mpsc::UnboundedSender<oneshot::Sender<()>>,
    /// Held by whoever follows.
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
    /// Waits until the follower has applied every change that it received before this call. Returns
    /// `false` without a follower.
    pub(crate) async fn is_caught_up(&self) -> bool {
        // A follower holds this lock for as long as it follows.
        if self.receiver.try_lock().is_ok() {
            return false;
        }
        let (sender, answer) = oneshot::channel();
        self.sender.send(sender).is_ok() && answer.await.is_ok()
    }

    /// Starts following; requests to an earlier follower are not answered.
    pub(crate) async fn follow(&self, changes: Changes) -> ChangeFollower<'_> {
        let asks = self.receiver.lock().await;
        ChangeFollower {
            changes,
            asks,
            waiting: Vec::new(),
        }
    }
}

/// Reads changes, as many at a time as there are.
pub(crate) struct ChangeFollower<'a> {
    changes: Changes,
    asks: tokio::sync::MutexGuard<'a, mpsc::UnboundedReceiver<oneshot::Sender<()>>>,
    /// Those who have asked, and are answered when what was read since is taken in.
    waiting: Vec<oneshot::Sender<()>>,
}

impl fmt::Debug for ChangeFollower<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Follower").finish_non_exhaustive()
    }
}

impl ChangeFollower<'_> {
    /// All changes that came since the last time; waits for the first of them. Calling this again
    /// says that the ones before are taken in. `None` if there will be no more.
    pub(crate) async fn next(&mut self) -> Option<Vec<StoreChange>> {
        loop {
            for asked in self.waiting.drain(..) {
                // The caller may have stopped waiting.
                let _ = asked.send(());
            }
            let mut told = Vec::new();
            tokio::select! {
                change = self.changes.next() => told.push(change?),
                asked = self.asks.recv() => self.waiting.extend(asked),
            }
            // Before the changes: each change that came before a request is then read below.
            while let Ok(asked) = self.asks.try_recv() {
                self.waiting.push(asked);
            }
            // Unconstrained by Tokio's cooperative budget: a pending change must not be left for
            // later.
            while let Some(change) = unconstrained(self.changes.next()).now_or_never() {
                told.push(change?);
            }
            if !told.is_empty() {
                return Some(told);
            }
        }
    }
}
