//! Benchmarks histories in a real Redis and prints the results:
//! `cargo run --release -p quillet-store --features redis --example history_figures`.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::{StreamExt, stream};
use quillet_core::history::{
    Commit, DefinitionContent, HistoryStore, LabelMove, LabelTarget, STORE,
};
use quillet_core::store::{EntryKey, EntryKind, Health, Store, StoreChange};
use quillet_store::StoreOptions;
use quillet_test_support::RedisServer;
use tokio::time::sleep;

const PROMPTS: usize = 10_000;
const VERSIONS: usize = 10;
/// Number of definitions; typical for a push of a large folder.
const PUSHED: usize = 1000;
/// Number of concurrent commits.
const BESIDE: usize = 64;
const ROUNDS: usize = 9;

#[tokio::main]
async fn main() {
    start_up().await;
    commits().await;
    observing().await;
}

async fn open(server: &RedisServer) -> Arc<dyn Store> {
    let options = StoreOptions::default();
    let store = quillet_store::open(&server.url(), &options).await.unwrap();
    while store.health() != Health::Ready {
        sleep(Duration::from_millis(1)).await;
    }
    store
}

fn history(store: &Arc<dyn Store>) -> &dyn HistoryStore {
    store.history().unwrap()
}

fn keys(group: &str, count: usize) -> Vec<EntryKey> {
    let key = |at| EntryKey::new(format!("{group}:{at}"));
    (0..count).map(key).collect()
}

/// A prompt of 570 bytes.
fn prompt(key: &EntryKey, version: usize) -> String {
    let rest = "Answer the question of the user with what you know. ".repeat(10);
    format!(r#"{{"prompt": "{key} {version:03}: {rest}"}}"#)
}

fn commit(key: &EntryKey, version: usize) -> Commit {
    let content = DefinitionContent::new(prompt(key, version));
    Commit::new(EntryKind::Prompt, key.clone(), Some(content), "ada")
}

async fn commit_all(store: &Arc<dyn Store>, commits: &[Commit]) -> Duration {
    let start = Instant::now();
    let done = stream::iter(commits).map(|commit| history(store).commit(commit));
    let done: Vec<_> = done.buffer_unordered(BESIDE).collect().await;
    assert!(done.iter().all(Result::is_ok));
    start.elapsed()
}

/// Returns the median and the 99th percentile.
fn spread(mut times: Vec<Duration>) -> String {
    times.sort();
    let at = |percent: usize| times[(times.len() - 1) * percent / 100];
    format!("p50 {:?}, p99 {:?}", at(50), at(99))
}

/// Kinds that a process loads at startup.
const LOADED: [EntryKind; 4] = [
    EntryKind::Extension,
    EntryKind::Prompt,
    EntryKind::Tool,
    EntryKind::Label,
];

/// Measures connecting and loading.
async fn load(server: &RedisServer) -> String {
    let (mut times, mut one_by_one) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let start = Instant::now();
        let store = open(server).await;
        let all = store.load_all(&LOADED).await.unwrap();
        times.push(start.elapsed());
        assert_eq!(all[1].len(), PROMPTS);
        let start = Instant::now();
        for kind in LOADED {
            store.load(kind).await.unwrap();
        }
        one_by_one.push(start.elapsed());
    }
    times.sort();
    one_by_one.sort();
    let memory = server.cli(&["INFO", "memory"]);
    let used = memory
        .lines()
        .find_map(|line| line.strip_prefix("used_memory_human:"));
    format!(
        "median {:?}, fastest {:?} (kind by kind {:?}, {:?}); {} in Redis",
        times[ROUNDS / 2],
        times[0],
        one_by_one[ROUNDS / 2],
        one_by_one[0],
        used.unwrap_or_default()
    )
}

async fn start_up() {
    let server = RedisServer::start();
    let store = open(&server).await;
    let keys = keys("p", PROMPTS);
    for key in &keys {
        let text = prompt(key, 1);
        store.put(EntryKind::Prompt, key, &text).await.unwrap();
    }
    println!(
        "{PROMPTS} prompts without versions, start: {}",
        load(&server).await
    );
    for version in 1..=VERSIONS {
        let commits: Vec<Commit> = keys.iter().map(|key| commit(key, version)).collect();
        commit_all(&store, &commits).await;
    }
    println!(
        "  with {VERSIONS} versions each, start: {}",
        load(&server).await
    );
    let start = Instant::now();
    let known = history(&store).keys(EntryKind::Prompt).await.unwrap();
    println!("  list {} histories: {:?}", known.len(), start.elapsed());
    let start = Instant::now();
    let wanted: Vec<(EntryKey, u64)> = keys.iter().map(|key| (key.clone(), 7)).collect();
    let kept = history(&store)
        .load_versions(EntryKind::Prompt, &wanted)
        .await
        .unwrap();
    assert!(kept.iter().all(Option::is_some));
    println!("  read version 7 of each: {:?}", start.elapsed());
}

async fn commits() {
    let server = RedisServer::start();
    let store = open(&server).await;
    let key = EntryKey::new("one");
    let mut times = Vec::new();
    for version in 0..PUSHED {
        let commit = commit(&key, version);
        let start = Instant::now();
        history(&store).commit(&commit).await.unwrap();
        times.push(start.elapsed());
    }
    println!("a commit: {}", spread(times));

    let new = |group| -> Vec<Commit> {
        let keys = keys(group, PUSHED);
        keys.iter().map(|key| commit(key, 1)).collect()
    };
    let start = Instant::now();
    for commit in new("sequential") {
        history(&store).commit(&commit).await.unwrap();
    }
    println!(
        "{PUSHED} new prompts, one after the other: {:?}",
        start.elapsed()
    );
    let beside = commit_all(&store, &new("beside")).await;
    println!("  {BESIDE} at a time: {beside:?}");

    let other = open(&server).await;
    let mut changes = other.changes();
    let (mut moved, mut seen) = (Vec::new(), Vec::new());
    let place = quillet_core::history::label_key(EntryKind::Prompt, &key);
    for number in 1..=300 {
        let moves = [LabelMove {
            name: "production".to_owned(),
            to: Some(LabelTarget::Version(number)),
            expect: None,
        }];
        let start = Instant::now();
        history(&store)
            .relabel(EntryKind::Prompt, &key, &moves)
            .await
            .unwrap();
        moved.push(start.elapsed());
        while changes.next().await.unwrap() != StoreChange::Entry(EntryKind::Label, place.clone()) {
        }
        seen.push(start.elapsed());
    }
    println!("moving a label: {}", spread(moved));
    println!("  … until another store is told: {}", spread(seen));
}

async fn observing() {
    let server = RedisServer::start();
    let store = open(&server).await;
    let keys = keys("raw", 2 * PROMPTS);
    for key in &keys {
        store
            .put(EntryKind::Prompt, key, &prompt(key, 1))
            .await
            .unwrap();
    }
    for what in ["that are all new", "that are known"] {
        let start = Instant::now();
        let new = history(&store)
            .observe(EntryKind::Prompt, &keys, STORE)
            .await
            .unwrap();
        println!(
            "look at {} prompts {what}: {:?}, {} versions",
            keys.len(),
            start.elapsed(),
            new.len()
        );
    }
}
