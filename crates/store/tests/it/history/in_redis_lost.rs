//! Writers and servers that are killed while a definition is written. Whatever was answered is
//! there, and no label names a version that is not.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use quillet_core::history::{Commit, Labels};
use quillet_core::store::{Key, Kind, Store, StoreErrorKind};
use quillet_test_support::{RedisServer, SentinelSet};
use tokio::time::sleep;

use super::{history, keep, prompt, texts, versions, whole, write};
use crate::support::{becomes, one, open};

/// Where the process that is killed writes; it is a test in a process of its own.
const VICTIM: &str = "QUILLET_TEST_HISTORY_VICTIM";
const KEYS: [&str; 3] = ["greet:hello", "greet:bye", "陈"];
const KILLS: u64 = 100;

/// Every write of a writer: it removes now and then, and moves two labels.
fn commit(key: &Key, writer: &str, round: u64) -> Commit {
    let text = format!("{writer} {round}");
    if round % 7 == 6 {
        return Commit::new(Kind::Prompt, key.clone(), None, writer);
    }
    Commit {
        labels: vec!["production".to_owned(), format!("by-{writer}")],
        ..write(key, &text)
    }
}

/// What is there of all keys is whole, whoever stopped in the middle of what.
async fn is_sound(store: &Arc<dyn Store>) {
    for key in KEYS.map(Key::new) {
        let all = whole(store, &key).await;
        let parents = all.windows(2);
        assert!(
            parents
                .clone()
                .all(|two| two[1].version.parent == Some(two[0].version.number))
        );
        let now = one(store, Kind::Prompt, key.as_str()).await;
        let newest = all.last().and_then(|kept| kept.content.as_ref());
        assert_eq!(
            now.as_deref(),
            newest.map(|content| &*content.text),
            "{key}"
        );
        let labels = one(store, Kind::Label, &format!("prompt:{key}")).await;
        let labels = Labels::parse(labels.as_deref().unwrap_or("{}")).unwrap();
        for (label, target) in &labels.0 {
            for number in target.numbers() {
                let is_there = all.iter().any(|it| it.version.number == number);
                assert!(is_there, "{key}: {label} names {number}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_writer_leaves_nothing_half_done() {
    if let Ok(url) = std::env::var(VICTIM) {
        return write_for_ever(&url).await;
    }
    let server = RedisServer::start();
    let store = open(&server.url()).await;
    becomes(&store, true).await;
    let mut answered = 0;
    for round in 0..KILLS {
        let mut victim = victim(&server.url());
        let output = BufReader::new(victim.stdout.take().unwrap());
        let mut lines = output.lines().map_while(Result::ok);
        let mut told = vec![lines.find(|line| line.starts_with("told ")).unwrap()];
        // Another point of a write each time, whatever the machine.
        sleep(Duration::from_micros(round * 97)).await;
        victim.kill().unwrap();
        victim.wait().unwrap();
        told.extend(lines.filter(|line| line.starts_with("told ") && line.ends_with('.')));

        answered += told.len();
        is_sound(&store).await;
        for line in told {
            let parts: Vec<&str> = line.trim_end_matches('.').split('\t').collect();
            let [_, key, number, text] = parts[..] else {
                panic!("{line}");
            };
            let wanted = [(Key::new(key), number.parse().unwrap())];
            let kept = history(&store).kept(Kind::Prompt, &wanted).await.unwrap();
            let content = kept
                .into_iter()
                .flatten()
                .next()
                .expect("it was answered")
                .content;
            let is = content.map_or(String::new(), |content| content.text.to_string());
            assert_eq!(is, text, "{line}");
        }
    }
    eprintln!("{answered} writes were answered in {KILLS} lives");
}

fn victim(url: &str) -> Child {
    let test = "history::in_redis_lost::a_killed_writer_leaves_nothing_half_done";
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(VICTIM, url)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Writes all keys side by side, and tells what was answered.
async fn write_for_ever(url: &str) {
    let store = open(url).await;
    let writers = KEYS.map(|key| {
        let (store, key) = (store.clone(), Key::new(key));
        tokio::spawn(async move {
            for round in 0.. {
                let commit = commit(&key, "victim", round);
                let done = keep(&store, &commit).await.unwrap();
                let text = commit
                    .content
                    .map_or(String::new(), |it| it.text.to_string());
                let line = format!("told \t{key}\t{}\t{text}.\n", done.version.number);
                std::io::stdout().write_all(line.as_bytes()).unwrap();
            }
        })
    });
    for writer in writers {
        writer.await.unwrap();
    }
}

/// The server is killed while three write; it keeps what it has answered.
#[tokio::test(flavor = "multi_thread")]
async fn a_killed_server_loses_nothing_that_was_answered() {
    let mut server = RedisServer::start_with(&["--appendonly", "yes", "--appendfsync", "always"]);
    let store = open(&server.url()).await;
    becomes(&store, true).await;
    for life in 0..5_u64 {
        let writers = KEYS.map(|key| {
            let (store, key) = (store.clone(), Key::new(key));
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
    // The same again succeeds.
    keep(&store, &commit(&Key::new(KEYS[0]), "after", 0))
        .await
        .unwrap();
    is_sound(&store).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn histories_go_on_after_a_failover() {
    let mut set = SentinelSet::start();
    let store = open(&set.url()).await;
    let key = Key::new(KEYS[0]);
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
