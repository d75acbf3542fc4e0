//! A process that is killed during writes loses no acknowledged write, and leaves no label without
//! its version.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use quillet_core::history::{Commit, LabelMove, LabelTarget, Labels, STORE};
use quillet_core::store::{EntryKey, EntryKind, Store};
use quillet_test_support::{RedisServer, TempDir, wait_for};

use super::{history, keep, keep_all, prompt, versions, write};
use crate::support::open;

/// Address of the store for the process to be killed, which runs this test as a child process.
const VICTIM: &str = "QUILLET_TEST_HISTORY_VICTIM";

/// File in which the process records acknowledged writes.
const TOLD: &str = "QUILLET_TEST_HISTORY_TOLD";

/// How often each process is killed.
const ROUNDS: u64 = 100;

const KEYS: [&str; 3] = ["kill:a", "kill:b", "kill:c"];

#[tokio::test(flavor = "multi_thread")]
async fn sqlite_survives_a_hundred_kills() {
    let name = "history::killed::sqlite_survives_a_hundred_kills";
    let dir = TempDir::new();
    survives(name, &format!("sqlite:{}/q.db", dir.path().display()), &dir).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_survives_a_hundred_kills() {
    let name = "history::killed::a_folder_survives_a_hundred_kills";
    let dir = TempDir::new();
    let folder = dir.path().join("store");
    fs::create_dir(&folder).unwrap();
    survives(name, &format!("dir:{}", folder.display()), &dir).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn redis_survives_a_hundred_kills() {
    let name = "history::killed::redis_survives_a_hundred_kills";
    let dir = TempDir::new();
    // The child process uses the server of its parent; its own server would not be stopped.
    let server = std::env::var(VICTIM).is_err().then(RedisServer::start);
    let address = server.as_ref().map_or(String::new(), RedisServer::url);
    survives(name, &address, &dir).await;
}

async fn survives(name: &str, address: &str, dir: &TempDir) {
    if let Ok(address) = std::env::var(VICTIM) {
        let told = std::env::var(TOLD).unwrap();
        return write_for_ever(&address, Path::new(&told)).await;
    }
    let told = dir.path().join("told");
    fs::write(&told, "").unwrap();
    for round in 0..ROUNDS {
        let before = fs::metadata(&told).unwrap().len();
        let mut victim = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", name])
            .env(VICTIM, address)
            .env(TOLD, &told)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        wait_for("the victim to write", || {
            fs::metadata(&told).unwrap().len() > before
        });
        // The kill interrupts one of the following writes.
        std::thread::sleep(Duration::from_micros(round * 7919 % 12_000));
        victim.kill().unwrap();
        victim.wait().unwrap();
        is_whole(address, &fs::read_to_string(&told).unwrap(), round).await;
    }
}

/// Performs commits, label moves, direct writes and removals, and records each acknowledged commit.
async fn write_for_ever(address: &str, told: &Path) {
    let store = open(address).await;
    let mut told = fs::OpenOptions::new().append(true).open(told).unwrap();
    for turn in 0_usize.. {
        let key = EntryKey::new(KEYS[turn % KEYS.len()]);
        let text = format!("{} {turn}", std::process::id());
        if turn % 5 == 4 {
            let raw = prompt(&format!("raw {text}"));
            store.put(EntryKind::Prompt, &key, &raw).await.unwrap();
        }
        let commit = match turn % 11 {
            10 => Commit::new(EntryKind::Prompt, key.clone(), None, "ada"),
            _ => Commit {
                labels: vec!["production".to_owned()],
                ..write(&key, &text)
            },
        };
        let done = keep(&store, &commit).await.unwrap().version;
        // The line is written in a single write, so an interrupted line does not count as
        // acknowledged.
        let line = format!("{key} {} {}\n", done.number, done.digest);
        told.write_all(line.as_bytes()).unwrap();
        if turn % 7 == 6 && !done.removed {
            let moves = [LabelMove {
                name: "next".to_owned(),
                to: Some(LabelTarget::Version(done.number)),
                expect: None,
            }];
            let moved = history(&store)
                .relabel(EntryKind::Prompt, &key, &moves)
                .await;
            moved.unwrap();
        }
    }
}

async fn is_whole(address: &str, told: &str, round: u64) {
    let store: Arc<dyn Store> = open(address).await;
    for name in KEYS {
        let key = EntryKey::new(name);
        let known = versions(&store, &key).await;
        let numbers: Vec<u64> = known.iter().map(|version| version.number).collect();
        let expected: Vec<u64> = (1..=known.len() as u64).collect();
        assert_eq!(numbers, expected, "round {round}");
        for line in told.lines().filter(|line| line.starts_with(name)) {
            let mut words = line.split(' ').skip(1);
            let number: usize = words.next().unwrap().parse().unwrap();
            let digest = words.next().unwrap();
            let found = known
                .get(number - 1)
                .map(|version| version.digest.to_string());
            assert_eq!(found.as_deref(), Some(digest), "round {round}: {line}");
        }
        let place = EntryKey::new(format!("prompt:{name}"));
        let labels = store.get(EntryKind::Label, &[place]).await.unwrap();
        let labels = labels.into_iter().flatten().next();
        let labels = Labels::parse(labels.as_deref().unwrap_or("{}")).unwrap();
        for number in labels.0.values().flat_map(|target| target.numbers()) {
            let version = known.get(number as usize - 1);
            assert!(
                version.is_some_and(|version| !version.removed),
                "{labels:?}"
            );
        }
        // The current content is a version, or a direct write that is not recorded yet.
        let keys = [key.clone()];
        let seen = history(&store)
            .observe(EntryKind::Prompt, &keys, STORE)
            .await;
        assert!(seen.unwrap().len() <= 1);
    }
    let next = keep_all(&store, &EntryKey::new("kill:next"), &[&round.to_string()]).await;
    assert_eq!(next.number, round + 1);
}
