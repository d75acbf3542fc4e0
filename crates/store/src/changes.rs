//! Broadcasts changes to any number of subscribers.

use futures_util::stream;
use quillet_core::store::{Changes, StoreChange};
use tokio::sync::broadcast::{self, error::RecvError};

/// Maximum number of unread changes; a slower subscriber receives [`StoreChange::All`] instead.
const BACKLOG: usize = 1024;

/// Sends changes to all existing subscribers.
#[derive(Clone, Debug)]
pub(crate) struct ChangeBus(broadcast::Sender<StoreChange>);

impl ChangeBus {
    pub(crate) fn new() -> Self {
        ChangeBus(broadcast::channel(BACKLOG).0)
    }

    /// Sending without subscribers is not an error.
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
        // `All` covers the remaining changes in the backlog.
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
