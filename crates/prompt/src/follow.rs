//! Following a store's changes, and being asked how far one has come.

use std::fmt;

use futures_util::{FutureExt, StreamExt};
use quillet_core::store::{Changes, StoreChange};
use tokio::sync::{Mutex, mpsc, oneshot};
use tokio::task::unconstrained;

/// Questions to a follower whether it has taken in the changes that it got so far.
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
    /// Waits until the follower has taken in every change that it got before this was called.
    /// `false` if nobody follows.
    pub(crate) async fn is_caught_up(&self) -> bool {
        if self.receiver.try_lock().is_ok() {
            return false;
        }
        let (sender, answer) = oneshot::channel();
        self.sender.send(sender).is_ok() && answer.await.is_ok()
    }

    /// Begins to follow; what was asked of a follower before this one is not answered.
    pub(crate) async fn follow(&self, changes: Changes) -> Follower<'_> {
        let asks = self.receiver.lock().await;
        Follower {
            changes,
            asks,
            waiting: Vec::new(),
        }
    }
}

/// Reads changes, as many at a time as there are.
pub(crate) struct Follower<'a> {
    changes: Changes,
    asks: tokio::sync::MutexGuard<'a, mpsc::UnboundedReceiver<oneshot::Sender<()>>>,
    /// Those who have asked, and are answered when what was read since is taken in.
    waiting: Vec<oneshot::Sender<()>>,
}

impl fmt::Debug for Follower<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Follower").finish_non_exhaustive()
    }
}

impl Follower<'_> {
    /// All changes that came since the last time; waits for the first of them. Calling this again
    /// says that the ones before are taken in. `None` if there will be no more.
    pub(crate) async fn next(&mut self) -> Option<Vec<StoreChange>> {
        loop {
            for asked in self.waiting.drain(..) {
                let _ = asked.send(());
            }
            let mut told = Vec::new();
            tokio::select! {
                change = self.changes.next() => told.push(change?),
                asked = self.asks.recv() => self.waiting.extend(asked),
            }
            while let Ok(asked) = self.asks.try_recv() {
                self.waiting.push(asked);
            }
            // Without a budget: nothing that is there may be left for later.
            while let Some(change) = unconstrained(self.changes.next()).now_or_never() {
                told.push(change?);
            }
            if !told.is_empty() {
                return Some(told);
            }
        }
    }
}
