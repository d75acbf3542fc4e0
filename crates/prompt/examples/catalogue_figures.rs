//! Measures a large catalogue on a real Redis: memory for each prompt, and the time until a write
//! is visible.
//!
//! `cargo run --release -p quillet-prompt --example catalogue_figures [PROMPTS]`
#![allow(clippy::unwrap_used)]

use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use quillet_core::store::{EntryKey, EntryKind, Health, Store};
use quillet_prompt::Catalogue;
use quillet_store::StoreOptions;
use quillet_template::TemplateFactory;
use quillet_test_support::EchoTools;
use quillet_test_support::RedisServer;

const SIZES: [usize; 3] = [20, 2_000, 20_000];
const ROUNDS: usize = 60;

#[tokio::main]
async fn main() {
    match std::env::args().nth(1) {
        Some(count) => measure(count.parse().unwrap()).await,
        // One process for each size, because freed memory may stay in the process and distort later
        // sizes.
        None => SIZES.iter().for_each(|count| {
            let program = std::env::current_exe().unwrap();
            let status = Command::new(program).arg(count.to_string()).status();
            assert!(status.unwrap().success());
        }),
    }
}

/// Creates a prompt of about 600 bytes.
fn prompt(number: usize, version: usize) -> String {
    let filler = "Answer in whole sentences, and say what you do not know. ".repeat(5);
    format!(
        r#"{{"name":"p{number}","description":"Reviews a piece of code, version {version}","userPrompt":"You are a reviewer of {{{{.variables.lang}}}}. {filler}Number {number}: {{{{.variables.code}}}}","parameters":[{{"name":"lang","type":"string","default":"Go"}},{{"name":"code","type":"string","description":"What is to be reviewed"}}]}}"#
    )
}

fn key(number: usize) -> EntryKey {
    EntryKey::new(format!("m{}:p{number}", number % 40))
}

async fn measure(count: usize) {
    let server = RedisServer::start();
    let store = open(&server.url()).await;
    for number in 0..count {
        store
            .put(EntryKind::Prompt, &key(number), &prompt(number, 0))
            .await
            .unwrap();
    }
    for number in 0..100 {
        let key = EntryKey::new(format!("t:tool{number}"));
        store.put(EntryKind::Tool, &key, "{}").await.unwrap();
    }
    for number in 0..20 {
        let (key, text) = extension(number, 0);
        store.put(EntryKind::Extension, &key, &text).await.unwrap();
    }
    let bare = memory();
    let started = Instant::now();
    let factory = TemplateFactory::standard();
    let catalogue = Catalogue::new(open(&server.url()).await, factory, Arc::new(EchoTools), 100);
    let catalogue = Arc::new(catalogue);
    catalogue.load().await.unwrap();
    let loaded = started.elapsed();
    let watched = catalogue.clone();
    let watch = tokio::spawn(async move { watched.watch().await });
    // The watcher reloads everything once after it starts.
    tokio::time::sleep(Duration::from_secs(3)).await;
    let at_rest = memory();
    let each = |now: usize| now.saturating_sub(bare) / count;
    println!(
        "{count} prompts: loaded in {loaded:?}, {} KB before, {} KB after: {} bytes a prompt",
        bare / 1024,
        at_rest / 1024,
        each(at_rest)
    );
    change(&store, &catalogue, "prompt", |round| {
        let number = round * 7919 % count;
        (EntryKind::Prompt, key(number), prompt(number, round + 1))
    })
    .await;
    change(&store, &catalogue, "tool", |round| {
        let text = format!(r#"{{"default":{round}}}"#);
        (
            EntryKind::Tool,
            EntryKey::new(format!("t:tool{}", round % 100)),
            text,
        )
    })
    .await;
    change(&store, &catalogue, "extension", |round| {
        let (key, text) = extension(round % 20, round + 1);
        (EntryKind::Extension, key, text)
    })
    .await;
    println!(
        "  after that {} KB: {} bytes a prompt",
        memory() / 1024,
        each(memory())
    );
    watch.abort();
}

fn extension(number: usize, version: usize) -> (EntryKey, String) {
    let text = format!(
        r#"{{"name":"e{number}","extensionType":"prompt","version":"{version}","contributes":{{"prompts":[{{"name":"a","prompt":"{{{{.variables.x}}}} {version}"}},{{"name":"b","prompt":"b"}}]}}}}"#
    );
    (EntryKey::new(format!("e{number}")), text)
}

/// Measures the time from a write until the snapshot contains it.
async fn change(
    store: &Arc<dyn Store>,
    catalogue: &Catalogue,
    what: &str,
    write: impl Fn(usize) -> (EntryKind, EntryKey, String),
) {
    let mut times = Vec::new();
    for round in 0..ROUNDS {
        let (kind, key, text) = write(round);
        let id = key.id();
        let started = Instant::now();
        store.put(kind, &key, &text).await.unwrap();
        while !is_seen(catalogue, kind, &id, &text) {
            tokio::task::yield_now().await;
        }
        times.push(started.elapsed());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    times.sort();
    let (median, last) = (times[ROUNDS / 2], times[ROUNDS - 1]);
    println!("  a {what} written until seen: median {median:?}, most {last:?}");
}

fn is_seen(catalogue: &Catalogue, kind: EntryKind, id: &str, text: &str) -> bool {
    let snapshot = catalogue.snapshot();
    match kind {
        EntryKind::Prompt => snapshot.prompts.get(id).is_some_and(|it| &*it.text == text),
        EntryKind::Tool => snapshot.tools.get(id).is_some_and(|it| &*it.text == text),
        _ => snapshot
            .extensions
            .get(id)
            .is_some_and(|it| &*it.text == text),
    }
}

async fn open(address: &str) -> Arc<dyn Store> {
    let store = quillet_store::open(address, &StoreOptions::default())
        .await
        .unwrap();
    while store.health() != Health::Ready {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    store
}

/// Returns the resident memory of this process in bytes.
fn memory() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.unwrap().split_whitespace().next().unwrap();
    number.parse::<usize>().unwrap() * 1024
}
