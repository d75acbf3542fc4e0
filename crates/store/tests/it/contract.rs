//! Contract tests of all stores of definitions.

use std::sync::Arc;

use futures_util::{FutureExt, StreamExt};
use quillet_core::store::{EntryKey, EntryKind, Health, Store, StoreChange};
use quillet_test_support::{Cluster, RedisServer, SentinelSet, TempDir};

use crate::support::{arrives, becomes, names, one, open};

async fn holds(address: &str) {
    let store = open(address).await;
    becomes(&store, true).await;
    is_empty(&store).await;
    keeps_entries_sorted_and_apart(&store).await;
    gets_in_the_order_asked(&store).await;
    tells_changes(&store, EntryKind::Prompt).await;
    tells_changes(&store, EntryKind::Database).await;
    keeps_any_text(&store).await;
    gives_entries_in_the_order_asked(&store).await;
    if !address.contains("memory") {
        tells_before_a_sync_ends(address).await;
    }
}

async fn is_empty(store: &Arc<dyn Store>) {
    assert_eq!(store.health(), Health::Ready);
    for kind in EntryKind::ALL {
        assert_eq!(store.load(kind).await.unwrap(), []);
        assert_eq!(store.keys(kind).await.unwrap(), []);
        assert_eq!(one(store, kind, "nobody:here").await, None);
        assert!(
            !store
                .remove(kind, &EntryKey::new("nobody:here"))
                .await
                .unwrap()
        );
    }
    assert_eq!(store.get(EntryKind::Tool, &[]).await.unwrap(), []);
}

/// Returns a text that is valid for its kind, because folders validate labels.
fn text(kind: EntryKind, key: &str) -> String {
    match kind {
        EntryKind::Label => format!("{{\"label-{}\":1}}", key.len()),
        _ => format!("\"{kind:?} {key}\""),
    }
}

async fn keeps_entries_sorted_and_apart(store: &Arc<dyn Store>) {
    for kind in EntryKind::ALL {
        for key in ["b:two", "a", "b", "b:one", "gpt-4.1"] {
            store
                .put(kind, &EntryKey::new(key), &text(kind, key))
                .await
                .unwrap();
        }
    }
    for kind in EntryKind::ALL {
        let entries = store.load(kind).await.unwrap();
        assert_eq!(names(&entries), ["a", "b", "b:one", "b:two", "gpt-4.1"]);
        assert_eq!(&*entries[2].text, text(kind, "b:one"));
        assert!(entries.iter().all(|entry| entry.problem.is_none()));
        let keys: Vec<EntryKey> = entries.into_iter().map(|entry| entry.key).collect();
        assert_eq!(store.keys(kind).await.unwrap(), keys);
    }
}

async fn gets_in_the_order_asked(store: &Arc<dyn Store>) {
    let keys = ["b", "nobody", "a", "b"].map(EntryKey::new);
    let texts = store.get(EntryKind::Environ, &keys).await.unwrap();
    let texts: Vec<Option<&str>> = texts.iter().map(Option::as_deref).collect();
    let (a, b) = (Some("\"Environ a\""), Some("\"Environ b\""));
    assert_eq!(texts, [b, None, a, b]);
}

async fn gives_entries_in_the_order_asked(store: &Arc<dyn Store>) {
    let keys = ["b", "nobody", "a", "b"].map(EntryKey::new);
    let all = store.load(EntryKind::Environ).await.unwrap();
    let of = |key: &EntryKey| all.iter().find(|entry| entry.key == *key).cloned();
    let expected: Vec<_> = keys.iter().map(of).collect();
    assert_eq!(
        store.entries(EntryKind::Environ, &keys).await.unwrap(),
        expected
    );
    assert_eq!(expected.iter().flatten().count(), 3);
}

/// A sync returns only after all earlier writes of other processes were reported.
async fn tells_before_a_sync_ends(address: &str) {
    let (writer, reader) = (open(address).await, open(address).await);
    becomes(&writer, true).await;
    becomes(&reader, true).await;
    let mut changes = reader.changes();
    reader.sync().await.unwrap();
    for round in 0..50 {
        while changes.next().now_or_never().is_some() {}
        let key = EntryKey::new(format!("round:{round}"));
        writer.put(EntryKind::Prompt, &key, "{}").await.unwrap();
        reader.sync().await.unwrap();
        let mut told = false;
        while let Some(change) = changes.next().now_or_never() {
            told |=
                matches!(change.unwrap(), StoreChange::Entry(EntryKind::Prompt, of) if of == key);
        }
        assert!(told, "{address} round {round}");
    }
}

async fn tells_changes(store: &Arc<dyn Store>, kind: EntryKind) {
    let key = EntryKey::new("b:one");
    let (mut first, mut second) = (store.changes(), store.changes());
    store.put(kind, &key, "1").await.unwrap();
    assert_eq!(
        arrives(&mut first, kind, "b:one").await,
        StoreChange::Entry(kind, key.clone())
    );
    arrives(&mut second, kind, "b:one").await;
    assert_eq!(one(store, kind, "b:one").await.as_deref(), Some("1"));

    let mut third = store.changes();
    assert!(store.remove(kind, &key).await.unwrap());
    arrives(&mut third, kind, "b:one").await;
    assert_eq!(one(store, kind, "b:one").await, None);
    assert!(!store.remove(kind, &key).await.unwrap());
    assert_eq!(
        names(&store.load(kind).await.unwrap()),
        ["a", "b", "b:two", "gpt-4.1"]
    );
}

async fn keeps_any_text(store: &Arc<dyn Store>) {
    let long = "x".repeat(1 << 20);
    for text in ["{not json", "", "\"ünï ☂\"\n", "{\"a\":\"{{.b}}\"}", &long] {
        store
            .put(EntryKind::Tool, &EntryKey::new("any"), text)
            .await
            .unwrap();
        assert_eq!(
            one(store, EntryKind::Tool, "any").await.as_deref(),
            Some(text)
        );
        let entries = store.load(EntryKind::Tool).await.unwrap();
        let entry = entries
            .iter()
            .find(|entry| entry.key.as_str() == "any")
            .unwrap();
        assert_eq!(&*entry.text, text);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn memory_keeps_the_contract() {
    holds("memory:").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_keeps_the_contract() {
    let dir = TempDir::new();
    let folder = dir.path().join("store");
    std::fs::create_dir(&folder).unwrap();
    holds(&format!("dir:{}", folder.display())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sqlite_keeps_the_contract() {
    let dir = TempDir::new();
    holds(&format!("sqlite:{}/q.db", dir.path().display())).await;
    holds("sqlite::memory:").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn redis_keeps_the_contract() {
    let server = RedisServer::start();
    holds(&server.url()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn redis_by_sentinels_keeps_the_contract() {
    let set = SentinelSet::start();
    holds(&set.url()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redis_cluster_keeps_the_contract() {
    let cluster = Cluster::start();
    holds(&cluster.url()).await;
}
