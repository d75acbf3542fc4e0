//! Histories in an SQLite file, which any SQL client may write.

use std::path::PathBuf;
use std::sync::Arc;

use quillet_core::history::{Action, DefinitionContent, LogEntry, LogFilter, STORE};
use quillet_core::store::{EntryKey, EntryKind, Store};
use quillet_test_support::TempDir;
use rusqlite::Connection;

use super::{history, keep, keep_all, numbers, prompt, texts, versions, write};
use crate::support::{arrives, open};

async fn opened(dir: &TempDir) -> (Arc<dyn Store>, PathBuf) {
    let path = dir.path().join("q.db");
    (open(&format!("sqlite:{}", path.display())).await, path)
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_written_by_hand_become_versions() {
    let dir = TempDir::new();
    let (store, path) = opened(&dir).await;
    let (hand, key) = (Connection::open(&path).unwrap(), EntryKey::new("by:hand"));
    let keys = [key.clone()];
    let mut changes = store.changes();
    for (sql, removed) in [
        (
            r#"INSERT INTO definitions VALUES ('prompt', 'by:hand', '{"prompt":"one"}')"#,
            false,
        ),
        (
            r#"UPDATE definitions SET text = '{"prompt":"two"}' WHERE key = 'by:hand'"#,
            false,
        ),
        ("DELETE FROM definitions WHERE key = 'by:hand'", true),
    ] {
        hand.execute(sql, []).unwrap();
        arrives(&mut changes, EntryKind::Prompt, key.as_str()).await;
        let new = history(&store)
            .observe(EntryKind::Prompt, &keys, STORE)
            .await;
        let new = new.unwrap();
        assert_eq!(new.len(), 1, "{sql}");
        assert_eq!(new[0].1.removed, removed, "{sql}");
    }
    let expected = [prompt("one"), prompt("two"), "-".to_owned()];
    assert_eq!(texts(&store, &key).await, expected);
    let labels =
        r#"INSERT INTO definitions VALUES ('label', 'prompt:by:hand', '{"production":2}')"#;
    hand.execute(labels, []).unwrap();
    let dropped = history(&store).collect(EntryKind::Prompt, &key, 1).await;
    assert_eq!(dropped.unwrap(), [1]);
    assert_eq!(numbers(&versions(&store, &key).await), [2, 3]);
}

/// A file from a version of the program without histories.
#[tokio::test(flavor = "multi_thread")]
async fn a_file_without_histories_is_brought_up() {
    let dir = TempDir::new();
    let (store, path) = opened(&dir).await;
    let key = EntryKey::new("old");
    store
        .put(EntryKind::Prompt, &key, &prompt("old"))
        .await
        .unwrap();
    drop(store);
    let old = "DROP TABLE definition_versions; DROP TABLE definition_texts;
               DROP TABLE definition_log; DELETE FROM quillet_parts WHERE name = 'history'";
    Connection::open(&path).unwrap().execute_batch(old).unwrap();
    let (store, _) = opened(&dir).await;
    keep(&store, &write(&key, "new")).await.unwrap();
    let expected = ["old", "new"].map(prompt);
    assert_eq!(texts(&store, &key).await, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn versions_and_lines_of_the_log_never_change() {
    let dir = TempDir::new();
    let (store, path) = opened(&dir).await;
    keep_all(&store, &EntryKey::new("a"), &["one"]).await;
    let line = LogEntry {
        number: 0,
        at_ms: 1,
        who: "ada".into(),
        from: "here".into(),
        action: Action::Write,
        kind: "prompt".into(),
        id: "a".into(),
        version: Some(1),
        label: None,
        message: "".into(),
    };
    history(&store).note(&line).await.unwrap();
    let hand = Connection::open(&path).unwrap();
    for (sql, part) in [
        ("UPDATE definition_log SET who = 'joe'", "appended"),
        ("DELETE FROM definition_log", "appended"),
        (
            "UPDATE definition_versions SET author = 'joe'",
            "never changes",
        ),
    ] {
        let error = hand.execute(sql, []).unwrap_err().to_string();
        assert!(error.contains(part), "{sql}: {error}");
    }
    let log = history(&store).log(&LogFilter::default(), None, 9).await;
    assert_eq!(log.unwrap(), [LogEntry { number: 1, ..line }]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_that_comes_back_stands_once() {
    let dir = TempDir::new();
    let (store, path) = opened(&dir).await;
    let key = EntryKey::new("a");
    keep_all(&store, &key, &["one", "two", "one", "two", "one"]).await;
    let hand = Connection::open(&path).unwrap();
    let count = |table: &str| -> i64 {
        let count = format!("SELECT count(*) FROM {table}");
        hand.query_row(&count, [], |row| row.get(0)).unwrap()
    };
    assert_eq!(
        (count("definition_versions"), count("definition_texts")),
        (5, 2)
    );
    history(&store)
        .collect(EntryKind::Prompt, &key, 1)
        .await
        .unwrap();
    assert_eq!(
        (count("definition_versions"), count("definition_texts")),
        (1, 1)
    );
    let kept = history(&store)
        .load_versions(EntryKind::Prompt, &[(key, 5)])
        .await
        .unwrap();
    let content = kept.into_iter().flatten().next().unwrap().content;
    assert_eq!(content, Some(DefinitionContent::new(prompt("one"))));
}
