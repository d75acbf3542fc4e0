//! A cluster of three masters.

use quillet_core::history::{Commit, DefinitionContent};
use quillet_core::store::{EntryKey, EntryKind, StoreChange, StoreErrorKind};
use quillet_test_support::{Cluster, wait_for};

use crate::support::{all_arrives, arrives, becomes, one, open};

#[tokio::test(flavor = "multi_thread")]
async fn keys_of_all_nodes_are_found_and_tell_changes() {
    let cluster = Cluster::start();
    let store = open(&cluster.url()).await;
    becomes(&store, true).await;
    let keys: Vec<EntryKey> = (0..40).map(|n| EntryKey::new(format!("k:{n}"))).collect();
    let mut changes = store.changes();
    for key in &keys {
        cluster.cli(&[
            "SET",
            &format!("shenma:environs:{key}"),
            &format!("\"{key}\""),
        ]);
    }
    arrives(&mut changes, EntryKind::Environ, "k:39").await;
    for node in &cluster.nodes {
        assert_ne!(node.cli(&["DBSIZE"]), "0", "the keys are on all nodes");
    }
    assert_eq!(store.keys(EntryKind::Environ).await.unwrap().len(), 40);
    assert_eq!(store.load(EntryKind::Environ).await.unwrap().len(), 40);
    let texts = store.get(EntryKind::Environ, &keys).await.unwrap();
    for (key, text) in keys.iter().zip(texts) {
        assert_eq!(text.as_deref(), Some(format!("\"{key}\"").as_str()));
    }
    for key in &keys {
        assert!(store.remove(EntryKind::Environ, key).await.unwrap());
    }
    arrives(&mut changes, EntryKind::Environ, "k:39").await;
}

/// A slot during its migration (ASK) and after it (MOVED).
#[tokio::test(flavor = "multi_thread")]
async fn a_slot_that_moves_takes_its_keys_along() {
    let cluster = Cluster::start();
    let store = open(&cluster.url()).await;
    store
        .put(EntryKind::Tool, &EntryKey::new("{t}:a"), "1")
        .await
        .unwrap();
    store
        .put(EntryKind::Tool, &EntryKey::new("{t}:b"), "2")
        .await
        .unwrap();
    let hand_over = HandOver::begin(&cluster, "t");
    hand_over.migrate("shenma:tools:{t}:a");

    let keys = ["{t}:a", "{t}:b", "{t}:none"].map(EntryKey::new);
    let texts = store.get(EntryKind::Tool, &keys).await.unwrap();
    let texts: Vec<Option<&str>> = texts.iter().map(Option::as_deref).collect();
    assert_eq!(texts, [Some("1"), Some("2"), None]);

    hand_over.migrate("shenma:tools:{t}:b");
    hand_over.end();
    assert_eq!(
        one(&store, EntryKind::Tool, "{t}:b").await.as_deref(),
        Some("2")
    );
    store
        .put(EntryKind::Tool, &EntryKey::new("{t}:a"), "3")
        .await
        .unwrap();
    assert_eq!(
        one(&store, EntryKind::Tool, "{t}:a").await.as_deref(),
        Some("3")
    );

    let mut changes = store.changes();
    cluster.cli(&["SET", "shenma:tools:{t}:c", "4"]);
    let change = arrives(&mut changes, EntryKind::Tool, "{t}:c").await;
    assert!(
        matches!(change, StoreChange::Entry(..) | StoreChange::All),
        "{change:?}"
    );
    assert_eq!(store.keys(EntryKind::Tool).await.unwrap().len(), 3);
}

/// A script whose keys are on two nodes fails with TRYAGAIN and changes nothing.
#[tokio::test(flavor = "multi_thread")]
async fn a_history_moves_with_its_slot() {
    let cluster = Cluster::start();
    let store = open(&cluster.url()).await;
    let history = store.history().unwrap();
    let key = EntryKey::new("{t}:a");
    let commit = |text: &str| Commit {
        labels: vec!["production".to_owned()],
        ..Commit::new(
            EntryKind::Tool,
            key.clone(),
            Some(DefinitionContent::new(text)),
            "ada",
        )
    };
    history.commit(&commit("1")).await.unwrap();
    let hand_over = HandOver::begin(&cluster, "t");
    hand_over.migrate("shenma:tools:{t}:a");
    let error = history.commit(&commit("2")).await.unwrap_err();
    assert_eq!(error.kind, StoreErrorKind::Unavailable, "{error}");
    assert_eq!(
        one(&store, EntryKind::Tool, "{t}:a").await.as_deref(),
        Some("1")
    );
    hand_over.migrate("shenma:history:shenma:tools:{t}:a");
    hand_over.migrate("shenma:labels:shenma:tools:{t}:a");
    let done = history.commit(&commit("2")).await.unwrap();
    assert_eq!(done.version.number, 2);
    hand_over.end();
    let done = history.commit(&commit("3")).await.unwrap();
    assert_eq!(done.version.number, 3);
    let labels = one(&store, EntryKind::Label, "tool:{t}:a").await;
    assert_eq!(labels.as_deref(), Some(r#"{"production":3}"#));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_is_lost_comes_back() {
    let mut cluster = Cluster::start();
    let store = open(&cluster.url()).await;
    becomes(&store, true).await;
    let mut changes = store.changes();
    cluster.nodes[2].kill();
    becomes(&store, false).await;
    cluster.nodes[2].restart();
    all_arrives(&mut changes).await;
    becomes(&store, true).await;
    wait_for("the cluster to be whole", || {
        cluster.nodes[0]
            .cli(&["CLUSTER", "INFO"])
            .contains("state:ok")
    });
    store
        .put(EntryKind::Tool, &EntryKey::new("x"), "1")
        .await
        .unwrap();
}

/// A slot migration in single steps.
struct HandOver<'a> {
    cluster: &'a Cluster,
    slot: String,
    from: usize,
    to: usize,
}

impl<'a> HandOver<'a> {
    fn begin(cluster: &'a Cluster, tag: &str) -> Self {
        let slot = cluster.cli(&["CLUSTER", "KEYSLOT", tag]);
        let owns = |node: usize| {
            let count = cluster.nodes[node].cli(&["CLUSTER", "COUNTKEYSINSLOT", &slot]);
            count != "0"
        };
        let from = (0..3).find(|node| owns(*node)).unwrap();
        let to = (from + 1) % 3;
        let hand_over = HandOver {
            cluster,
            slot,
            from,
            to,
        };
        hand_over.set(to, "IMPORTING", from);
        hand_over.set(from, "MIGRATING", to);
        hand_over
    }

    fn set(&self, node: usize, state: &str, other: usize) {
        let id = self.cluster.nodes[other].cli(&["CLUSTER", "MYID"]);
        let command = ["CLUSTER", "SETSLOT", &self.slot, state, &id];
        assert_eq!(self.cluster.nodes[node].cli(&command), "OK");
    }

    fn migrate(&self, name: &str) {
        let port = self.cluster.nodes[self.to].port.to_string();
        let command = ["MIGRATE", "127.0.0.1", &port, name, "0", "1000"];
        assert_eq!(self.cluster.nodes[self.from].cli(&command), "OK");
    }

    fn end(self) {
        for node in [self.to, self.from, 3 - self.to - self.from] {
            self.set(node, "NODE", self.to);
        }
    }
}
