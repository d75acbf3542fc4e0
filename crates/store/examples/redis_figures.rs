//! Benchmarks the Redis store with a real server and prints the results:
//! `cargo run --release -p quillet-store --example redis_figures`.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use quillet_core::store::{EntryKey, EntryKind, Health, Store, StoreChange};
use quillet_store::StoreOptions;
use quillet_test_support::{RedisServer, SentinelSet};
use tokio::time::sleep;

const KEYS: usize = 100_000;
const ROUNDS: usize = 300;

#[tokio::main]
async fn main() {
    start_up().await;
    let server = RedisServer::start();
    latency("notices", &server, &server.url()).await;
    server.cli(&[
        "ACL",
        "SETUSER",
        "poor",
        "on",
        ">pw",
        "~*",
        "&*",
        "+@all",
        "-client|tracking",
    ]);
    let untracked = server.url().replace("//", "//poor:pw@");
    latency("looking", &server, &untracked).await;
    recovery().await;
    failover().await;
}

async fn open(address: &str) -> Arc<dyn Store> {
    let store = quillet_store::open(address, &StoreOptions::default())
        .await
        .unwrap();
    while store.health() != Health::Ready {
        sleep(Duration::from_millis(1)).await;
    }
    store
}

async fn start_up() {
    let server = RedisServer::start();
    let script = "for i = 1, tonumber(ARGV[1]) do redis.call('SET', KEYS[1] .. i, '\"value\"') end";
    server.cli(&["EVAL", script, "1", "shenma:environs:m:", &KEYS.to_string()]);
    let start = Instant::now();
    let store = open(&server.url()).await;
    let connected = start.elapsed();
    let keys = store.keys(EntryKind::Environ).await.unwrap();
    println!(
        "{} keys: connected in {connected:?}, listed in {:?}",
        keys.len(),
        start.elapsed()
    );
    for kind in [EntryKind::Extension, EntryKind::Prompt, EntryKind::Tool] {
        store.load(kind).await.unwrap();
    }
    println!(
        "  with the three kinds of definitions: {:?}",
        start.elapsed()
    );
    let start = Instant::now();
    let entries = store.load(EntryKind::Environ).await.unwrap();
    println!(
        "  reading {} values too: {:?}",
        entries.len(),
        start.elapsed()
    );
    let start = Instant::now();
    for _ in 0..ROUNDS {
        store.get(EntryKind::Environ, &keys[..3]).await.unwrap();
    }
    println!("  reading 3 of them: {:?}", start.elapsed() / ROUNDS as u32);
}

/// Measures the time from just before another client writes until the change arrives in the stream.
/// It includes starting a process, which is also measured separately.
async fn latency(how: &str, server: &RedisServer, url: &str) {
    let writer = open(&server.url()).await;
    let store = open(url).await;
    let mut changes = store.changes();
    let rounds = if how == "notices" { ROUNDS } else { 30 };
    let mut times = Vec::new();
    for round in 0..rounds {
        let key = EntryKey::new(format!("{how}:{round}"));
        let start = Instant::now();
        writer.put(EntryKind::Tool, &key, "1").await.unwrap();
        while changes.next().await.unwrap() != StoreChange::Entry(EntryKind::Tool, key.clone()) {}
        times.push(start.elapsed());
    }
    times.sort();
    let at = |percent: usize| times[(times.len() - 1) * percent / 100];
    println!(
        "change by {how}: p50 {:?}, p99 {:?}, max {:?}",
        at(50),
        at(99),
        at(100)
    );
}

async fn recovery() {
    let mut server = RedisServer::start();
    let store = open(&server.url()).await;
    let start = Instant::now();
    server.kill();
    while store.health() == Health::Ready {
        sleep(Duration::from_millis(1)).await;
    }
    println!("kill -9: seen after {:?}", start.elapsed());
    sleep(Duration::from_secs(2)).await;
    let start = Instant::now();
    server.restart();
    let up = start.elapsed();
    while store.health() != Health::Ready {
        sleep(Duration::from_millis(1)).await;
    }
    println!(
        "restart: server answers after {up:?}, the store after {:?}",
        start.elapsed()
    );
}

async fn failover() {
    let mut set = SentinelSet::start();
    let store = open(&set.url()).await;
    let key = EntryKey::new("x");
    store.put(EntryKind::Tool, &key, "1").await.unwrap();
    let start = Instant::now();
    set.master.kill();
    while store.put(EntryKind::Tool, &key, "2").await.is_err() {
        sleep(Duration::from_millis(5)).await;
    }
    let writable = start.elapsed();
    let log = std::fs::read_to_string(set.sentinels[0].dir.path().join("log")).unwrap();
    let switched = log.contains("+switch-master");
    println!("failover (down after 500 ms): writable after {writable:?}, switched: {switched}");
}
