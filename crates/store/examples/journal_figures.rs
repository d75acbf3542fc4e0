//! Benchmarks journals in a file and in a dedicated Redis, and prints the results:
//! `cargo run --release -p quillet-store --features redis --example journal_figures`.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use quillet_core::journal::{
    Journal, JournalEvent, RecordedOutput, RunFilter, RunHead, RunSnapshot, RunState,
};
use quillet_store::{JournalOptions, StoreOptions, open_journal};
use quillet_test_support::{RedisServer, TempDir};

/// Number of steps in one run.
const STEPS: usize = 5000;
/// Number of additional runs.
const RUNS: usize = 5000;
/// Number of concurrent runs.
const BESIDE: usize = 16;
const LEASE: Duration = Duration::from_secs(600);

#[tokio::main]
async fn main() {
    let dir = TempDir::new();
    let server = RedisServer::start();
    let synced = RedisServer::start_with(&["--appendonly", "yes", "--appendfsync", "always"]);
    let file = format!("sqlite:{}/journal.db", dir.path().display());
    figures("SQLite in memory", "sqlite::memory:").await;
    figures("SQLite, a file", &file).await;
    figures("Redis", &server.url()).await;
    figures("Redis, appendfsync always", &synced.url()).await;
}

/// Returns the median and the 99th percentile.
fn spread(mut times: Vec<Duration>) -> String {
    times.sort();
    let at = |percent: usize| times[(times.len() - 1) * percent / 100];
    format!("p50 {:?}, p99 {:?}", at(50), at(99))
}

fn head(id: String, created_ms: u64) -> RunHead {
    RunHead {
        id: id.into(),
        kind: "agent".into(),
        title: "assistant".into(),
        scope: format!("scope-{}", created_ms % 10).into(),
        created_ms,
        ..RunHead::default()
    }
}

fn asked(turn: usize) -> JournalEvent {
    JournalEvent::Asked {
        place: None,
        turn: turn as u32,
        digest: format!("{turn:064x}"),
    }
}

fn returned(call: usize, bytes: usize) -> JournalEvent {
    JournalEvent::Returned {
        call: format!("call_{call}").into(),
        result: Ok(RecordedOutput {
            value: format!("\"{}\"", "x".repeat(bytes)),
            images: Vec::new(),
        }),
    }
}

/// Appends single steps and returns the durations.
async fn append(
    journal: &Arc<dyn Journal>,
    run: &str,
    step: impl Fn(usize) -> JournalEvent,
    count: usize,
) -> Vec<Duration> {
    let mut times = Vec::with_capacity(count);
    let running = RunSnapshot::at(RunState::Running);
    for at in 0..count {
        let step = [step(at)];
        let start = Instant::now();
        journal.append(run, 1, &step, &running).await.unwrap();
        times.push(start.elapsed());
    }
    times
}

async fn timed<T>(work: impl Future<Output = T>) -> Duration {
    let start = Instant::now();
    work.await;
    start.elapsed()
}

async fn figures(what: &str, address: &str) {
    let options = JournalOptions {
        max_steps: 1 << 20,
        ..JournalOptions::default()
    };
    let store = StoreOptions::default();
    let journal = open_journal(address, &store, &options).await.unwrap();
    let begin = async |id: String, created_ms| {
        let admitted = [JournalEvent::Admitted {
            request: serde_json::json!({"agent": "assistant", "question": "What is new?"}),
        }];
        let head = head(id, created_ms);
        journal.begin(&head, &admitted, LEASE).await.unwrap();
    };
    println!("{what}");
    let mut begun = Vec::new();
    for n in 0..RUNS {
        begun.push(timed(begin(format!("run-{n}"), n as u64)).await);
    }
    println!("  begin: {}", spread(begun));

    append(&journal, "run-0", asked, STEPS / 10).await;
    let times = append(&journal, "run-1", asked, STEPS).await;
    println!("  append a step of 110 bytes: {}", spread(times));
    let times = append(&journal, "run-2", |n| returned(n, 1000), STEPS).await;
    println!("  append a step of 1 KB: {}", spread(times));
    let times = append(&journal, "run-3", |n| returned(n, 100_000), 200).await;
    println!("  append a step of 100 KB: {}", spread(times));
    let ids: Vec<String> = (10..10 + BESIDE).map(|n| format!("run-{n}")).collect();
    let many = ids.iter().map(|id| append(&journal, id, asked, STEPS / 10));
    let start = Instant::now();
    let times: Vec<Duration> = join_all(many).await.concat();
    let rate = times.len() as f64 / start.elapsed().as_secs_f64();
    let spread_of_many = spread(times);
    println!("  … {BESIDE} runs at a time: {spread_of_many}, {rate:.0} steps a second");

    let mut renewed = Vec::new();
    for n in 0..1000 {
        renewed.push(timed(journal.renew(&format!("run-{n}"), 1, LEASE)).await);
    }
    println!("  renew: {}", spread(renewed));
    let mut parked = Vec::new();
    let (waiting, ready) = (
        RunSnapshot::at(RunState::Waiting),
        RunSnapshot::at(RunState::Ready),
    );
    for n in 100..600 {
        let id = format!("run-{n}");
        parked.push(timed(journal.append(&id, 1, &[asked(n)], &waiting)).await);
    }
    println!("  park: {}", spread(parked));
    let (mut decided, mut claimed) = (Vec::new(), Vec::new());
    for n in 100..400 {
        let id = format!("run-{n}");
        decided.push(timed(journal.interject(&id, 2, &asked(n), &ready)).await);
    }
    println!("  interject: {}", spread(decided));
    let free = async |most| timed(journal.abandoned(most)).await;
    println!("  300 claimable runs of {RUNS}: {:?}", free(1000).await);
    for n in 100..400 {
        claimed.push(timed(journal.claim(&format!("run-{n}"), LEASE)).await);
    }
    println!("  claim: {}", spread(claimed));
    println!("  no claimable run of {RUNS}: {:?}", free(100).await);

    let lists = [
        (None, None),
        (Some("scope-3"), None),
        (Some("scope-3"), Some(RunState::Waiting)),
    ];
    for (scope, state) in lists {
        let filter = RunFilter {
            scope: scope.map(Arc::from),
            state,
            before_ms: None,
            most: 50,
        };
        let time = timed(journal.list(&filter)).await;
        println!("  list 50 of {scope:?}, {state:?}: {time:?}");
    }
    let time = timed(journal.read("run-2", 0, usize::MAX)).await;
    println!("  read {STEPS} steps of 1 KB: {time:?}");
}
