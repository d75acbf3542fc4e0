//! One sender of changes, many readers.

use futures_util::stream;
use quillet_core::store::{Changes, StoreChange};
use tokio::sync::broadcast::{self, error::RecvError};

/// Changes that a reader may lag behind before it gets [`StoreChange::All`] instead.
const BACKLOG: usize = 1024;

/// Sends changes to every stream that was made before.
#[derive(Clone, Debug)]
pub(crate) struct ChangeBus(broadcast::Sender<StoreChange>);

impl ChangeBus {
    pub(crate) fn new() -> Self {
        ChangeBus(broadcast::channel(BACKLOG).0)
    }

    /// Nobody listening is no error.
    pub(crate) fn send(&self, change: StoreChange) {
        let _ = self.0.send(change);
    }

    pub(crate) fn stream(&self) -> Changes {
        let receiver = self.0.subscribe();
        Box::pin(stream::unfold(receiver, next))
    }
}

async fn next(
    mut receiver: broadcast::Receiver<StoreChange>,
) -> Option<(StoreChange, broadcast::Receiver<StoreChange>)> {
    match receiver.recv().await {
        Ok(change) => Some((change, receiver)),
        // What is left in the backlog is covered by `All`.
        Err(RecvError::Lagged(_)) => Some((StoreChange::All, receiver.resubscribe())),
        Err(RecvError::Closed) => None,
    }
}

#[cfg(test)]
mod tests {
    use futures_util::StreamExt;
    use quillet_core::store::{EntryKey, EntryKind};

    use super::*;

    #[tokio::test]
    async fn a_slow_reader_gets_all_once() {
        let hub = ChangeBus::new();
        let mut changes = hub.stream();
        let change = StoreChange::Entry(EntryKind::Tool, EntryKey::new("a"));
        for _ in 0..=BACKLOG {
            hub.send(change.clone());
        }
        assert_eq!(changes.next().await, Some(StoreChange::All));
        hub.send(change.clone());
        assert_eq!(changes.next().await, Some(change));
    }
}
