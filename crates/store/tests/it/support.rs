//! Helpers shared by the test modules.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use quillet_core::store::{Changes, EntryKey, EntryKind, Health, Store, StoreChange, StoreEntry};
use quillet_store::StoreOptions;
use tokio::time::{sleep, timeout};

pub(crate) async fn open(address: &str) -> Arc<dyn Store> {
    open_with(address, &StoreOptions::default()).await
}

pub(crate) async fn open_with(address: &str, options: &StoreOptions) -> Arc<dyn Store> {
    quillet_store::open(address, options).await.unwrap()
}

/// Longer timeouts, because a busy machine may be slower than a user would tolerate.
pub(crate) fn patient() -> StoreOptions {
    StoreOptions {
        response_timeout: Duration::from_secs(15),
        ..StoreOptions::default()
    }
}

/// Waits for the report that everything may have changed; reports of single entries may precede it.
pub(crate) async fn all_arrives(changes: &mut Changes) {
    while arrives(changes, EntryKind::Tool, "nobody").await != StoreChange::All {}
}

/// Waits for a change that includes the entry.
pub(crate) async fn arrives(changes: &mut Changes, kind: EntryKind, key: &str) -> StoreChange {
    let covers = |change: &StoreChange| match change {
        StoreChange::Entry(of, at) => *of == kind && at.as_str() == key,
        StoreChange::Kind(of) => *of == kind,
        StoreChange::All => true,
    };
    let wait = async {
        loop {
            let change = changes.next().await.expect("the stream of changes ended");
            if covers(&change) {
                return change;
            }
        }
    };
    let arrived = timeout(Duration::from_secs(20), wait).await;
    arrived.unwrap_or_else(|_| panic!("no change of {kind:?} {key} arrived"))
}

/// Waits up to 20 s until the store is ready or unavailable, and returns the reason if it is
/// unavailable.
pub(crate) async fn becomes(store: &Arc<dyn Store>, ready: bool) -> String {
    for _ in 0..2000 {
        match store.health() {
            Health::Ready if ready => return String::new(),
            Health::Away { reason } if !ready => return reason,
            _ => sleep(Duration::from_millis(10)).await,
        }
    }
    panic!(
        "store did not become ready: {ready}; it is {:?}",
        store.health()
    );
}

pub(crate) async fn one(store: &Arc<dyn Store>, kind: EntryKind, key: &str) -> Option<String> {
    let texts = store.get(kind, &[EntryKey::new(key)]).await.unwrap();
    texts[0].as_deref().map(str::to_owned)
}

pub(crate) fn names(entries: &[StoreEntry]) -> Vec<&str> {
    entries.iter().map(|entry| entry.key.as_str()).collect()
}
