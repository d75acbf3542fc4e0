//! Redis servers that are unavailable at startup, die during use or fail over.

use std::time::{Duration, Instant};

use quillet_core::store::{EntryKey, EntryKind, StoreChange, StoreErrorKind};
use quillet_test_support::{RedisServer, SentinelSet, free_port};
use tokio::time::sleep;

use crate::support::{all_arrives, arrives, becomes, one, open};

#[tokio::test(flavor = "multi_thread")]
async fn a_store_opens_while_redis_is_down_and_connects_later() {
    let port = free_port();
    let store = open(&format!("redis://127.0.0.1:{port}")).await;
    let mut changes = store.changes();
    let reason = becomes(&store, false).await;
    assert!(reason.contains(&port.to_string()), "{reason}");
    for kind in EntryKind::ALL {
        let error = store.load(kind).await.unwrap_err();
        assert_eq!(error.kind, StoreErrorKind::Unavailable, "{error}");
    }

    let server = RedisServer::start_at(port, &[]);
    all_arrives(&mut changes).await;
    becomes(&store, true).await;
    server.cli(&["SET", "shenma:tools:x", "1"]);
    arrives(&mut changes, EntryKind::Tool, "x").await;
    assert_eq!(
        one(&store, EntryKind::Tool, "x").await.as_deref(),
        Some("1")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_server_is_found_again_and_tells_changes_again() {
    let mut server = RedisServer::start();
    let store = open(&server.url()).await;
    store
        .put(EntryKind::Tool, &EntryKey::new("x"), "1")
        .await
        .unwrap();
    for round in 0..3 {
        let mut changes = store.changes();
        server.kill();
        becomes(&store, false).await;
        let error = store
            .put(EntryKind::Tool, &EntryKey::new("x"), "1")
            .await
            .unwrap_err();
        assert_eq!(error.kind, StoreErrorKind::Unavailable);
        server.restart();
        all_arrives(&mut changes).await;
        assert_eq!(
            one(&store, EntryKind::Tool, "x").await,
            None,
            "the server kept nothing"
        );

        let key = format!("round:{round}");
        server.cli(&["SET", &format!("shenma:tools:{key}"), "2"]);
        let change = arrives(&mut changes, EntryKind::Tool, &key).await;
        assert_eq!(
            change,
            StoreChange::Entry(EntryKind::Tool, EntryKey::new(key))
        );
    }
}

/// The server closes a connection; the store reconnects and enables notifications again.
#[tokio::test(flavor = "multi_thread")]
async fn a_closed_connection_is_made_again() {
    let server = RedisServer::start();
    let store = open(&server.url()).await;
    becomes(&store, true).await;
    let mut changes = store.changes();
    server.cli(&["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"]);
    all_arrives(&mut changes).await;
    server.cli(&["SET", "shenma:tools:x", "1"]);
    let change = arrives(&mut changes, EntryKind::Tool, "x").await;
    assert_eq!(
        change,
        StoreChange::Entry(EntryKind::Tool, EntryKey::new("x"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failover_moves_the_store_to_the_new_master() {
    let mut set = SentinelSet::start();
    let store = open(&set.url()).await;
    store
        .put(EntryKind::Tool, &EntryKey::new("x"), "1")
        .await
        .unwrap();
    let mut changes = store.changes();
    set.replica.cli(&["WAIT", "0", "0"]);
    quillet_test_support::wait_for("the replica to have the key", || {
        set.replica.cli(&["GET", "shenma:tools:x"]) == "1"
    });

    set.master.kill();
    becomes(&store, false).await;
    let start = Instant::now();
    while store
        .put(EntryKind::Tool, &EntryKey::new("y"), "2")
        .await
        .is_err()
    {
        assert!(
            start.elapsed() < Duration::from_secs(30),
            "not writable again"
        );
        sleep(Duration::from_millis(20)).await;
    }
    eprintln!("writable {:?} after the loss was seen", start.elapsed());
    assert_eq!(
        one(&store, EntryKind::Tool, "x").await.as_deref(),
        Some("1")
    );
    all_arrives(&mut changes).await;

    set.replica.cli(&["SET", "shenma:tools:z", "3"]);
    let change = arrives(&mut changes, EntryKind::Tool, "z").await;
    assert!(matches!(change, StoreChange::Entry(..)), "{change:?}");
}
