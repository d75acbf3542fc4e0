//! Redis servers that are killed during writes. All acknowledged writes survive, and no label
//! points at a missing version.

use std::sync::Arc;
use std::time::Duration;

use quillet_core::history::{Commit, Labels};
use quillet_core::store::{EntryKey, EntryKind, Store, StoreErrorKind};
use quillet_test_support::{RedisServer, SentinelSet};
use tokio::time::sleep;

use super::{keep, prompt, texts, versions, whole, write};
use crate::support::{becomes, one, open};

const KEYS: [&str; 3] = ["greet:hello", "greet:bye", "陈"];

/// Returns the commit of a round, which occasionally removes the definition and otherwise moves two
/// labels.
fn commit(key: &EntryKey, writer: &str, round: u64) -> Commit {
    let text = format!("{writer} {round}");
    if round % 7 == 6 {
        return Commit::new(EntryKind::Prompt, key.clone(), None, writer);
    }
    Commit {
        labels: vec!["production".to_owned(), format!("by-{writer}")],
        ..write(key, &text)
    }
}

/// Checks that all keys are consistent, wherever a writer was interrupted.
async fn is_sound(store: &Arc<dyn Store>) {
    for key in KEYS.map(EntryKey::new) {
        let all = whole(store, &key).await;
        let parents = all.windows(2);
        assert!(
            parents
                .clone()
                .all(|two| two[1].version.parent == Some(two[0].version.number))
        );
        let now = one(store, EntryKind::Prompt, key.as_str()).await;
        let newest = all.last().and_then(|kept| kept.content.as_ref());
        assert_eq!(
            now.as_deref(),
            newest.map(|content| &*content.text),
            "{key}"
        );
        let labels = one(store, EntryKind::Label, &format!("prompt:{key}")).await;
        let labels = Labels::parse(labels.as_deref().unwrap_or("{}")).unwrap();
        for (label, target) in &labels.0 {
            for number in target.numbers() {
                let is_there = all.iter().any(|it| it.version.number == number);
                assert!(is_there, "{key}: {label} names {number}");
            }
        }
    }
}

/// The server is killed during three concurrent writes; all acknowledged ones survive.
#[tokio::test(flavor = "multi_thread")]
async fn a_killed_server_loses_nothing_that_was_answered() {
    let mut server = RedisServer::start_with(&["--appendonly", "yes", "--appendfsync", "always"]);
    let store = open(&server.url()).await;
    becomes(&store, true).await;
    for life in 0..5_u64 {
        let writers = KEYS.map(|key| {
            let (store, key) = (store.clone(), EntryKey::new(key));
            tokio::spawn(async move {
                let mut answered = Vec::new();
                for round in 0.. {
                    let commit = commit(&key, &format!("life-{life}"), round);
                    match keep(&store, &commit).await {
                        Ok(done) => answered.push(done.version),
                        Err(error) => return (key, answered, error),
                    }
                }
                unreachable!("the server is killed")
            })
        });
        sleep(Duration::from_millis(30 + 7 * life)).await;
        server.kill();
        let mut all = Vec::new();
        for writer in writers {
            all.push(writer.await.unwrap());
        }
        server.restart();
        becomes(&store, true).await;
        is_sound(&store).await;
        for (key, answered, error) in all {
            assert_eq!(error.kind, StoreErrorKind::Unavailable, "{error}");
            let kept = versions(&store, &key).await;
            for version in answered {
                assert!(kept.contains(&version), "{version:?}");
            }
        }
    }
    // The same commit succeeds afterwards.
    keep(&store, &commit(&EntryKey::new(KEYS[0]), "after", 0))
        .await
        .unwrap();
    is_sound(&store).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn histories_go_on_after_a_failover() {
    let mut set = SentinelSet::start();
    let store = open(&set.url()).await;
    let key = EntryKey::new(KEYS[0]);
    for round in 0..5 {
        keep(&store, &commit(&key, "before", round)).await.unwrap();
    }
    let hash = "shenma:history:{shenma:templates:greet:hello}";
    quillet_test_support::wait_for("the replica to have the history", || {
        set.replica.cli(&["HGET", hash, "numbers"]) == "1-5"
    });
    set.master.kill();
    becomes(&store, false).await;
    let after = write(&key, "after");
    let mut done = keep(&store, &after).await;
    while let Err(error) = done {
        assert_ne!(error.kind, StoreErrorKind::Conflict, "{error}");
        sleep(Duration::from_millis(20)).await;
        done = keep(&store, &after).await;
    }
    let all = texts(&store, &key).await;
    assert_eq!(all.len(), 6, "{all:?}");
    assert_eq!(all.last(), Some(&prompt("after")));
    is_sound(&store).await;
}
