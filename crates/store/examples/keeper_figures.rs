//! Benchmarks sessions and searches. Starts a dedicated Redis.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::time::{Duration, Instant};

use quillet_core::knowledge::{DocumentInput, Knowledge};
use quillet_core::runs::RunAllowance;
use quillet_core::session::StoredMessage;
use quillet_core::{Message, Role};
use quillet_store::{
    KnowledgeOptions, RunOptions, SessionOptions, StoreOptions, open_knowledge, open_runs,
    open_sessions,
};
use quillet_test_support::{RedisServer, TempDir};

const ROUNDS: usize = 20;

#[tokio::main]
async fn main() {
    let (server, dir) = (RedisServer::start(), TempDir::new());
    let file = format!("sqlite:{}/s.db", dir.path().display());
    for address in ["memory:", &file, &server.url()] {
        sessions(address).await;
    }
    for address in ["memory:", &server.url()] {
        runs(address).await;
    }
    search(&dir.path().join("k.db")).await;
}

fn turn(n: usize) -> StoredMessage {
    StoredMessage {
        id: n.to_string(),
        created_ms: 1_700_000_000_000,
        message: Message::new(Role::User, "A message of some length. ".repeat(8)),
        loaded_skills: Vec::new(),
        partial: false,
    }
}

async fn sessions(address: &str) {
    let options = SessionOptions::default();
    let sessions = open_sessions(address, &StoreOptions::default(), &options)
        .await
        .unwrap();
    let turns: Vec<StoredMessage> = (0..10_000).map(turn).collect();
    for part in turns.chunks(1_000) {
        sessions.append("long", part).await.unwrap();
    }
    let (mut all, mut last, mut added) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let start = Instant::now();
        assert_eq!(
            sessions.load("long", usize::MAX).await.unwrap().len(),
            10_000
        );
        all.push(start.elapsed());
        let start = Instant::now();
        sessions.load("long", 50).await.unwrap();
        last.push(start.elapsed());
        let start = Instant::now();
        sessions.append("short", &turns[..2]).await.unwrap();
        added.push(start.elapsed());
    }
    let name = sessions.describe();
    println!("{name}: load 10,000 messages {:?}", median(&mut all));
    println!("{name}: load the last 50 of them {:?}", median(&mut last));
    println!("{name}: append 2 messages {:?}", median(&mut added));
}

async fn runs(address: &str) {
    let options = RunOptions::default();
    let runs = open_runs(address, &StoreOptions::default(), &options)
        .await
        .unwrap();
    let allowance = RunAllowance {
        concurrent: Some(1000),
        per_minute: Some(100_000),
    };
    let mut times = Vec::new();
    for n in 0..200 {
        let start = Instant::now();
        let permit = runs.admit("k", &format!("r{n}"), allowance).await.unwrap();
        times.push(start.elapsed());
        drop(permit);
    }
    println!("{}: admit a run {:?}", runs.describe(), median(&mut times));
}

async fn search(path: &Path) {
    let knowledge = open_knowledge(path, None, KnowledgeOptions::default())
        .await
        .unwrap();
    let start = Instant::now();
    for n in 0..2_000 {
        let text = format!("Subject{n} is one of many things. 北京大学第{n}号。 ").repeat(100);
        let document = DocumentInput {
            collection: "c".into(),
            name: n.to_string(),
            title: format!("About {n}"),
            url: None,
            summary: None,
            text,
        };
        knowledge.put(&document).await.unwrap();
    }
    println!(
        "knowledge: put 2,000 documents of 3,500 characters {:?}",
        start.elapsed()
    );
    for question in ["subject1234", "things of subject77", "北京大学"] {
        let mut times = Vec::new();
        for _ in 0..ROUNDS {
            let start = Instant::now();
            assert!(
                !knowledge
                    .search(question, &[], 10)
                    .await
                    .unwrap()
                    .is_empty()
            );
            times.push(start.elapsed());
        }
        println!("knowledge: search {question:?} {:?}", median(&mut times));
    }
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}
