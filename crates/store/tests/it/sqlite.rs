//! SQLite files: other writers, invalid files and crashes.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use futures_util::future::join_all;
use quillet_core::knowledge::{DocumentInput, Knowledge};
use quillet_core::session::{Sessions, StoredMessage};
use quillet_core::store::{EntryKey, EntryKind, StoreChange, StoreErrorKind};
use quillet_core::trace::{SpanKind, TraceFilter, Tracer};
use quillet_core::{Message, Role};
use quillet_store::{
    KnowledgeOptions, SessionOptions, SqliteSessions, TraceOptions, open_knowledge, open_traces,
};
use quillet_test_support::{TempDir, wait_for};

use crate::support::{arrives, one, open};

fn said(id: &str) -> StoredMessage {
    StoredMessage {
        id: id.to_owned(),
        created_ms: 1,
        message: Message::new(Role::User, id),
        loaded_skills: Vec::new(),
        partial: false,
    }
}

async fn sessions(path: &Path) -> SqliteSessions {
    let opened = SqliteSessions::open(path, SessionOptions::default()).await;
    opened.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_by_other_processes_are_told() {
    let dir = TempDir::new();
    let path = dir.path().join("q.db");
    let address = format!("sqlite:{}", path.display());
    let (store, other) = (open(&address).await, open(&address).await);
    let mut changes = store.changes();
    let key = EntryKey::new("a:b");
    other.put(EntryKind::Agent, &key, "1").await.unwrap();
    let change = arrives(&mut changes, EntryKind::Agent, "a:b").await;
    assert_eq!(change, StoreChange::Entry(EntryKind::Agent, key.clone()));
    assert_eq!(
        one(&store, EntryKind::Agent, "a:b").await.as_deref(),
        Some("1")
    );
    assert!(other.remove(EntryKind::Agent, &key).await.unwrap());
    arrives(&mut changes, EntryKind::Agent, "a:b").await;

    // Any SQL client can write to the file.
    let file = rusqlite::Connection::open(&path).unwrap();
    let insert = "INSERT INTO definitions VALUES ('tool', 't', '{}')";
    file.execute(insert, []).unwrap();
    arrives(&mut changes, EntryKind::Tool, "t").await;
    file.execute("UPDATE definitions SET key = 'u'", [])
        .unwrap();
    arrives(&mut changes, EntryKind::Tool, "u").await;

    let many = "WITH RECURSIVE n (value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM n LIMIT 3000)
                INSERT INTO definitions SELECT 'environ', value, '1' FROM n";
    file.execute(many, []).unwrap();
    let change = arrives(&mut changes, EntryKind::Prompt, "any").await;
    assert_eq!(change, StoreChange::All, "more than are written down");
    assert_eq!(store.keys(EntryKind::Environ).await.unwrap().len(), 3000);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_with_a_file_is_said() {
    let dir = TempDir::new();
    let text = dir.path().join("text.db");
    fs::write(
        &text,
        "this is no database, and it is longer than a header. ".repeat(50),
    )
    .unwrap();
    let newer = dir.path().join("newer.db");
    drop(sessions(&newer).await);
    let file = rusqlite::Connection::open(&newer).unwrap();
    file.execute("UPDATE quillet_parts SET version = 99", [])
        .unwrap();
    let cases = [
        (text, StoreErrorKind::Corrupt, "not a database"),
        (
            newer,
            StoreErrorKind::Configuration,
            "its sessions have version 99",
        ),
        (
            dir.path().to_owned(),
            StoreErrorKind::Configuration,
            "unable to open",
        ),
        (
            dir.path().join("none/x.db"),
            StoreErrorKind::Configuration,
            "its folder must exist",
        ),
    ];
    for (path, kind, part) in cases {
        let opened = SqliteSessions::open(&path, SessionOptions::default()).await;
        let error = opened.unwrap_err();
        assert_eq!(error.kind, kind, "{error}");
        assert!(error.message.contains(part), "{error}");
        assert!(error.message.contains(path.to_str().unwrap()), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_file_holds_everything_and_is_private() {
    let dir = TempDir::new();
    let path = dir.path().join("all.db");
    let address = format!("sqlite:{}", path.display());
    let store = open(&address).await;
    let sessions = sessions(&path).await;
    let knowledge = open_knowledge(&path, None, KnowledgeOptions::default())
        .await
        .unwrap();
    let traces = std::sync::Arc::new(open_traces(&path, TraceOptions::default()).await.unwrap());
    let document = DocumentInput {
        collection: "c".into(),
        name: "n".into(),
        title: "t".into(),
        url: None,
        summary: None,
        text: "words".into(),
    };
    for n in 0..20 {
        store
            .put(EntryKind::Tool, &EntryKey::new(format!("k{n}")), "1")
            .await
            .unwrap();
        sessions.append("s", &[said(&n.to_string())]).await.unwrap();
        knowledge.put(&document).await.unwrap();
        let tracer = Tracer::new(format!("{n:032x}"), traces.clone(), false);
        drop(tracer.span(SpanKind::Run, "r", None));
    }
    traces.flush().await.unwrap();
    assert_eq!(store.keys(EntryKind::Tool).await.unwrap().len(), 20);
    assert_eq!(sessions.load("s", 99).await.unwrap().len(), 20);
    assert_eq!(knowledge.search("words", &[], 9).await.unwrap().len(), 1);
    assert_eq!(
        traces
            .list(&TraceFilter::default(), 99)
            .await
            .unwrap()
            .len(),
        20
    );
    assert_eq!(traces.dropped(), 0);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0);
    }
}

/// Two connections stand for two processes; all their appends are preserved.
#[tokio::test(flavor = "multi_thread")]
async fn two_connections_write_one_session() {
    let dir = TempDir::new();
    let path = dir.path().join("s.db");
    let (one, two) = (sessions(&path).await, sessions(&path).await);
    let pairs: Vec<[StoredMessage; 2]> = (0..100)
        .map(|n| [said(&format!("{n}a")), said(&format!("{n}b"))])
        .collect();
    let appends = pairs.iter().enumerate().map(|(n, pair)| match n % 2 {
        0 => one.append("s", pair),
        _ => two.append("s", pair),
    });
    join_all(appends).await.into_iter().for_each(Result::unwrap);
    let turns = two.load("s", 999).await.unwrap();
    assert_eq!(turns, one.load("s", 999).await.unwrap());
    assert_eq!(turns.len(), 200);
    for pair in turns.chunks(2) {
        assert_eq!(
            pair[0].id.trim_end_matches('a'),
            pair[1].id.trim_end_matches('b')
        );
    }
}

/// Path for the process to be killed, which runs this test as a child process.
const VICTIM: &str = "QUILLET_TEST_VICTIM";

#[tokio::test(flavor = "multi_thread")]
async fn what_was_written_is_there_after_a_kill() {
    if let Ok(path) = std::env::var(VICTIM) {
        return append_for_ever(Path::new(&path)).await;
    }
    let dir = TempDir::new();
    let path = dir.path().join("s.db");
    let mut victim = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "sqlite::what_was_written_is_there_after_a_kill"])
        .env(VICTIM, &path)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let told = dir.path().join("s.db.told");
    let count = || {
        fs::read_to_string(&told)
            .ok()?
            .lines()
            .last()?
            .parse::<usize>()
            .ok()
    };
    wait_for("the victim to write", || {
        count().is_some_and(|count| count > 50)
    });
    victim.kill().unwrap();
    victim.wait().unwrap();

    let kept = sessions(&path).await.load("s", usize::MAX).await.unwrap();
    assert!(
        kept.len() >= count().unwrap() * 2,
        "what was told to be kept is kept"
    );
    assert_eq!(kept.len() % 2, 0, "all or none");
    for (n, turn) in kept.iter().enumerate() {
        assert_eq!(turn.id, n.to_string());
    }
}

/// Records the number of completed appends after each one.
async fn append_for_ever(path: &Path) {
    use std::io::Write;
    let sessions = sessions(path).await;
    let mut told = fs::File::create(path.with_extension("db.told")).unwrap();
    for n in 0.. {
        let pair = [said(&(2 * n).to_string()), said(&(2 * n + 1).to_string())];
        sessions.append("s", &pair).await.unwrap();
        writeln!(told, "{}", n + 1).unwrap();
        tokio::time::sleep(Duration::from_micros(200)).await;
    }
}

/// Several processes create the same file concurrently. SQLite immediately reports to all but one
/// that the file is locked.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn several_make_a_new_file_ready_at_once() {
    let folder = TempDir::new();
    for round in 0..50 {
        let path = folder.path().join(format!("{round}.db"));
        let start = std::sync::Arc::new(tokio::sync::Barrier::new(4));
        let mut openers = tokio::task::JoinSet::new();
        for _ in 0..4 {
            let (path, start) = (path.clone(), start.clone());
            openers.spawn(async move {
                start.wait().await;
                SqliteSessions::open(&path, SessionOptions::default()).await
            });
        }
        while let Some(opened) = openers.join_next().await {
            opened.unwrap().unwrap();
        }
    }
}
