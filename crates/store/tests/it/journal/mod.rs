//! Contract tests of all journals: a table of behaviors, each with a separate journal. Two
//! connections stand for two processes.

mod claims;
mod equal;
mod lists;
mod model;
mod redis;
mod steps;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use futures_util::FutureExt;
use quillet_core::BoxFuture;
use quillet_core::journal::{
    Claim, Journal, JournalEvent, RunFilter, RunHead, RunSnapshot, RunState,
};
use quillet_core::store::StoreErrorKind;
use quillet_store::{JournalOptions, open_journal};
use quillet_test_support::{Cluster, RedisServer, TempDir};

use crate::support::patient;

/// A lease that does not expire during a test.
const LONG: Duration = Duration::from_secs(600);
/// A lease that expires immediately.
const OVER: Duration = Duration::ZERO;

/// Description of a behavior, and its test.
type Behaviour = (&'static str, fn(Both) -> BoxFuture<'static, ()>);

const BEHAVIOURS: &[Behaviour] = &[
    ("a run begins once", |it| claims::begins_once(it).boxed()),
    ("its owner alone writes", |it| claims::fences(it).boxed()),
    ("free runs are claimed", |it| claims::claims(it).boxed()),
    ("leases run out", |it| claims::leases_run_out(it).boxed()),
    ("a claim is given once", |it| {
        claims::one_gets_it(it).boxed()
    }),
    ("the owner renews", |it| claims::renews(it).boxed()),
    ("others interject", |it| claims::interjects(it).boxed()),
    ("one interjection counts", |it| {
        claims::one_decides(it).boxed()
    }),
    ("steps come back", |it| steps::come_back(it).boxed()),
    ("steps come in pages", |it| steps::come_in_pages(it).boxed()),
    ("large steps", |it| steps::may_be_large(it).boxed()),
    ("limits are named", |it| steps::are_limited(it).boxed()),
    ("heads say how it stands", |it| {
        lists::head_stands(it).boxed()
    }),
    ("lists are filtered", |it| lists::are_filtered(it).boxed()),
    ("lists of many", |it| lists::of_many(it).boxed()),
    ("who waits longest is first", |it| {
        lists::abandoned(it).boxed()
    }),
    ("ended runs are removed", |it| lists::removes(it).boxed()),
    ("ended runs go", |it| lists::ended_runs_go(it).boxed()),
    ("odd ids", |it| lists::odd_ids(it).boxed()),
];

/// Where journals are created.
enum Place {
    Memory,
    Files(TempDir),
    Redis(String),
}

/// Two processes with the same journal.
#[derive(Clone)]
struct Both {
    address: String,
    one: Arc<dyn Journal>,
    two: Arc<dyn Journal>,
}

impl Place {
    /// Returns the address of a new journal.
    fn address(&self) -> String {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        match self {
            Place::Memory => "sqlite::memory:".to_owned(),
            Place::Files(dir) => format!("sqlite:{}/{number}.db", dir.path().display()),
            Place::Redis(url) => format!("{url}?prefix=shenma:{number}:"),
        }
    }

    async fn both(&self) -> Both {
        let address = self.address();
        let one = open(&address, JournalOptions::default()).await;
        let two = match self {
            Place::Memory => one.clone(),
            _ => open(&address, JournalOptions::default()).await,
        };
        Both { address, one, two }
    }

    async fn keeps_the_contract(&self) {
        for (what, shown) in BEHAVIOURS {
            let both = self.both().await;
            println!("{what}: {}", both.one.describe());
            shown(both).await;
        }
    }
}

async fn open(address: &str, options: JournalOptions) -> Arc<dyn Journal> {
    open_journal(address, &patient(), &options).await.unwrap()
}

fn run(id: &str) -> RunHead {
    RunHead {
        id: id.into(),
        kind: "agent".into(),
        title: "assistant".into(),
        scope: "ada".into(),
        created_ms: 1_000,
        ..RunHead::default()
    }
}

fn asked(turn: u32) -> JournalEvent {
    JournalEvent::Asked {
        place: None,
        turn,
        digest: format!("{turn:064x}"),
    }
}

fn ended() -> JournalEvent {
    JournalEvent::Ended {
        how: "done".into(),
        error: None,
        text: String::new(),
    }
}

fn at(state: RunState) -> RunSnapshot {
    RunSnapshot::at(state)
}

/// Returns all events of a run.
async fn written(journal: &Arc<dyn Journal>, id: &str) -> Vec<JournalEvent> {
    let entries = journal.read(id, 0, usize::MAX).await.unwrap();
    let numbers = entries.iter().map(|entry| entry.number);
    assert!(numbers.eq(1..=entries.len() as u64), "a gap: {entries:?}");
    entries.into_iter().map(|entry| entry.step).collect()
}

impl Both {
    /// Creates a run with one event in this state, and returns its claim.
    async fn begun(&self, id: &str, state: RunState) -> Claim {
        let claim = self.one.begin(&run(id), &[asked(1)], LONG).await.unwrap();
        if state != RunState::Running {
            let last = self.one.append(id, claim.epoch, &[], &at(state)).await;
            assert_eq!(last.unwrap(), 1);
        }
        claim
    }
}

async fn listed(journal: &Arc<dyn Journal>, filter: &RunFilter) -> Vec<String> {
    let heads = journal.list(filter).await.unwrap();
    heads.iter().map(|head| head.id.to_string()).collect()
}

/// Checks the kind of an error, and that its message contains these parts.
fn refused<T: std::fmt::Debug>(
    result: Result<T, quillet_core::store::StoreError>,
    kind: StoreErrorKind,
    parts: &[&str],
) {
    let error = result.unwrap_err();
    assert_eq!(error.kind, kind, "{error}");
    for part in parts {
        assert!(error.message.contains(part), "no {part:?} in: {error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn memory_keeps_the_contract() {
    Place::Memory.keeps_the_contract().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_keeps_the_contract() {
    Place::Files(TempDir::new()).keeps_the_contract().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn redis_keeps_the_contract() {
    let server = RedisServer::start();
    Place::Redis(server.url()).keeps_the_contract().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn few_rights_are_enough_for_the_contract() {
    let server = RedisServer::start();
    let url = server.url_of_a_user_with_few_rights();
    Place::Redis(url).keeps_the_contract().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redis_cluster_keeps_the_contract() {
    let cluster = Cluster::start();
    Place::Redis(cluster.url()).keeps_the_contract().await;
}
