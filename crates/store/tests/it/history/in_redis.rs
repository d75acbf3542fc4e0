//! Histories in Redis: edits of other programs, permissions and key names.

use std::sync::Arc;
use std::time::Duration;

use quillet_core::history::{
    Action, Commit, DefinitionContent, LabelMove, LabelTarget, Labels, LogEntry, LogFilter, STORE,
    WritePrecondition,
};
use quillet_core::store::{EntryKey, EntryKind, Store, StoreChange, StoreError, StoreErrorKind};
use quillet_store::StoreOptions;
use quillet_test_support::{Cluster, RedisServer, SentinelSet};
use tokio::time::timeout;

use super::{history, holds, keep, keep_all, numbers, prompt, texts, versions, write};
use crate::support::{arrives, becomes, one, open, open_with};

#[tokio::test(flavor = "multi_thread")]
async fn redis_keeps_histories() {
    let server = RedisServer::start();
    holds(&server.url()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn redis_by_sentinels_keeps_histories() {
    let set = SentinelSet::start();
    holds(&set.url()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redis_cluster_keeps_histories() {
    let cluster = Cluster::start();
    holds(&cluster.url()).await;
}

async fn opened(url: &str) -> Arc<dyn Store> {
    let store = open(url).await;
    becomes(&store, true).await;
    store
}

fn name(key: &str) -> String {
    format!("shenma:templates:{key}")
}

fn history_of(key: &str) -> String {
    format!("shenma:history:{{shenma:templates:{key}}}")
}

fn labels_of(key: &str) -> String {
    format!("shenma:labels:{{shenma:templates:{key}}}")
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_set_by_hand_is_one_version_for_all_replicas() {
    let server = RedisServer::start();
    let replicas = [opened(&server.url()).await, opened(&server.url()).await];
    let key = EntryKey::new("by:hand");
    let observe_all = || async {
        let seers = [0, 1, 0, 1].map(|at| {
            let (store, keys): (_, [EntryKey; 1]) = (Arc::clone(&replicas[at]), [key.clone()]);
            tokio::spawn(async move {
                let seen = history(&store).observe(EntryKind::Prompt, &keys, STORE);
                seen.await.unwrap()
            })
        });
        let mut new = Vec::new();
        for seer in seers {
            new.extend(seer.await.unwrap());
        }
        new
    };
    for (command, new) in [
        (vec!["SET", r#"{"prompt":"one"}"#], 1),
        (vec!["SET", r#"{"prompt":"two"}"#], 1),
        // A difference only in white space is not a change.
        (vec!["SET", r#"{ "prompt": "two" }"#], 0),
        (vec!["APPEND", " "], 0),
        (vec!["DEL"], 1),
        // A Redis value that is not a string is neither a version nor a removal.
        (vec!["RPUSH", "a list"], 0),
        (vec!["DEL"], 0),
        (vec!["SET", r#"{"prompt":"one"}"#, "PX", "100000"], 1),
    ] {
        let name = name("by:hand");
        let all = [&command[..1], &[name.as_str()], &command[1..]].concat();
        server.cli(&all);
        assert_eq!(observe_all().await.len(), new, "{command:?}");
        assert_eq!(observe_all().await, [], "{command:?}");
    }
    let expected = [prompt("one"), prompt("two"), "-".to_owned(), prompt("one")];
    assert_eq!(texts(&replicas[0], &key).await, expected);
}

/// Other stores are notified by Redis, or detect the change by polling.
#[tokio::test(flavor = "multi_thread")]
async fn labels_that_move_are_told_to_other_stores() {
    let server = RedisServer::start();
    let writer = opened(&server.url()).await;
    let key = EntryKey::new("greet:hello");
    keep_all(&writer, &key, &["one", "two"]).await;
    let old = RedisServer::start_with(&["--rename-command", "HELLO", ""]);
    let old_writer = opened(&old.url()).await;
    keep_all(&old_writer, &key, &["one", "two"]).await;
    for (server, writer, is_told) in [(&server, &writer, true), (&old, &old_writer, false)] {
        let reader = open(&server.url()).await;
        let mut changes = reader.changes();
        becomes(&reader, true).await;
        if !is_told {
            // A store that polls compares the definitions with its first poll, which must be
            // complete. The first poll is complete once the store has reported any change.
            let warm = EntryKey::new("warm");
            for text in 0.. {
                let labelled = Commit {
                    labels: vec!["production".to_owned()],
                    ..write(&warm, &text.to_string())
                };
                history(writer).commit(&labelled).await.unwrap();
                let seen = arrives(&mut changes, EntryKind::Label, "prompt:warm");
                if timeout(Duration::from_secs(3), seen).await.is_ok() {
                    break;
                }
                assert!(text < 10, "no change was ever seen");
            }
        }
        for number in [1, 2] {
            let moves = [LabelMove {
                name: "production".to_owned(),
                to: Some(LabelTarget::Version(number)),
                expect: None,
            }];
            history(writer)
                .relabel(EntryKind::Prompt, &key, &moves)
                .await
                .unwrap();
            let change = arrives(&mut changes, EntryKind::Label, "prompt:greet:hello").await;
            let exact = StoreChange::Entry(EntryKind::Label, EntryKey::new("prompt:greet:hello"));
            assert_eq!(change, exact);
            let text = one(&reader, EntryKind::Label, "prompt:greet:hello").await;
            assert_eq!(text, Some(format!(r#"{{"production":{number}}}"#)));
        }
        let stored = server.cli(&["GET", &labels_of("greet:hello")]);
        assert_eq!(stored, r#"{"production":2}"#);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn histories_hide_nothing_and_are_no_entries() {
    let server = RedisServer::start();
    let store = opened(&server.url()).await;
    for name in ["a", "b"] {
        let labelled = Commit {
            labels: vec!["production".to_owned()],
            ..write(&EntryKey::new(name), name)
        };
        keep(&store, &labelled).await.unwrap();
    }
    history(&store).note(&line("a")).await.unwrap();
    // Keys similar to those of a history and of labels, but without a definition.
    server.cli(&["SET", "shenma:history:other", "1"]);
    server.cli(&["SET", "shenma:labels:prompt:a", "{}"]);
    server.cli(&["SET", "shenma:logs", "1"]);
    let mut all = Vec::new();
    for (kind, entries) in EntryKind::ALL
        .iter()
        .zip(store.load_all(&EntryKind::ALL).await.unwrap())
    {
        assert_eq!(entries, store.load(*kind).await.unwrap());
        all.extend(
            entries
                .into_iter()
                .map(|entry| format!("{} {}", kind.word(), entry.key)),
        );
    }
    assert_eq!(
        all,
        ["prompt a", "prompt b", "label prompt:a", "label prompt:b"]
    );
    let known = history(&store).keys(EntryKind::Prompt).await.unwrap();
    assert_eq!(known, ["a", "b"].map(EntryKey::new));
}

#[tokio::test(flavor = "multi_thread")]
async fn contents_are_kept_once_and_go_with_their_last_version() {
    let server = RedisServer::start();
    let store = opened(&server.url()).await;
    let key = EntryKey::new("many");
    let long = "Answer with what you know. ".repeat(100);
    let long = long.as_str();
    keep_all(&store, &key, &["a", long, "a", long, "b"]).await;
    let fields = || {
        let fields = server.cli(&["HKEYS", &history_of("many")]);
        let mut kinds: Vec<char> = fields.lines().filter_map(|it| it.chars().next()).collect();
        kinds.sort_unstable();
        kinds.into_iter().collect::<String>()
    };
    assert_eq!(fields(), "nrrrstttvvvvv");
    let size = server
        .cli(&["STRLEN", &name("many")])
        .parse::<usize>()
        .unwrap();
    let packed = |text: &str| {
        let field = format!("t{}", DefinitionContent::new(prompt(text)).digest());
        let length = server.cli(&["HSTRLEN", &history_of("many"), &field]);
        length.parse::<usize>().unwrap()
    };
    assert!(packed(long) < 200 && size < 200, "{}", packed(long));
    for (keep, left) in [(3, "nrrrstttvvv"), (2, "nrrsttvv"), (1, "nrstv")] {
        history(&store)
            .collect(EntryKind::Prompt, &key, keep)
            .await
            .unwrap();
        assert_eq!(fields(), left);
    }
    assert_eq!(texts(&store, &key).await, [prompt("b")]);
}

/// A commit replaces an invalid value, which is never recorded as a version.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_text_makes_way() {
    let server = RedisServer::start();
    let options = StoreOptions {
        max_value_bytes: 1000,
        ..StoreOptions::default()
    };
    let store = open_with(&server.url(), &options).await;
    becomes(&store, true).await;
    let long = prompt(&"x".repeat(2000));
    for (key, command) in [
        ("list", vec!["RPUSH", "KEY", "a"]),
        (
            "bytes",
            vec!["EVAL", "redis.call('SET', KEYS[1], '\\255')", "1", "KEY"],
        ),
        ("long", vec!["SET", "KEY", &long]),
    ] {
        let place = name(key);
        let command = command
            .iter()
            .map(|part| if *part == "KEY" { &place } else { *part });
        server.cli(&command.collect::<Vec<_>>());
        let key = EntryKey::new(key);
        let keys = [key.clone()];
        let seen = history(&store)
            .observe(EntryKind::Prompt, &keys, STORE)
            .await;
        assert_eq!(seen.unwrap(), [], "{key}");
        for expect in [WritePrecondition::Absent, WritePrecondition::Version(1)] {
            let commit = Commit {
                expect,
                ..write(&key, "new")
            };
            let error = keep(&store, &commit).await.unwrap_err();
            assert_eq!(error.kind, StoreErrorKind::Conflict, "{error}");
        }
        let done = keep(&store, &write(&key, "new")).await.unwrap();
        assert_eq!((done.version.number, done.is_new), (1, true), "{key}");
        assert_eq!(texts(&store, &key).await, [prompt("new")]);
    }
    let key = EntryKey::new("long");
    let error = keep(&store, &write(&key, &long)).await.unwrap_err();
    assert_eq!(error.kind, StoreErrorKind::Refused, "{error}");
}

/// A corrupt history returns an error that names the key, and never panics.
#[tokio::test(flavor = "multi_thread")]
async fn histories_that_were_tampered_with_are_named() {
    let server = RedisServer::start();
    let store = opened(&server.url()).await;
    let place = history_of("x");
    for command in [
        vec!["SET", &place, "text"],
        vec!["HSET", &place, "numbers", "many"],
        vec!["HDEL", &place, "v2"],
        vec!["HSET", &place, "v2", "{}"],
    ] {
        server.cli(&["DEL", &place, &name("x")]);
        let key = EntryKey::new("x");
        keep_all(&store, &key, &["one", "two"]).await;
        if command[0] == "SET" {
            server.cli(&["DEL", &place]);
        }
        server.cli(&command);
        let error = keep(&store, &write(&key, "three")).await.unwrap_err();
        assert_eq!(error.kind, StoreErrorKind::Corrupt, "{command:?} {error}");
        assert!(error.message.contains(&place), "{command:?} {error}");
        assert_eq!(
            one(&store, EntryKind::Prompt, "x").await,
            Some(prompt("two"))
        );
    }
}

fn line(id: &str) -> LogEntry {
    LogEntry {
        number: 0,
        at_ms: 1,
        who: "ada".into(),
        from: "here".into(),
        action: Action::Write,
        kind: "prompt".into(),
        id: id.into(),
        version: None,
        label: None,
        message: "".into(),
    }
}

/// Performs every operation of a history.
async fn do_all(store: &Arc<dyn Store>, key: &EntryKey, text: &str) -> Result<(), StoreError> {
    let labelled = Commit {
        labels: vec!["production".to_owned()],
        ..write(key, text)
    };
    let done = keep(store, &labelled).await?;
    let wanted = [(key.clone(), done.version.number)];
    history(store)
        .load_versions(EntryKind::Prompt, &wanted)
        .await?;
    history(store)
        .versions(EntryKind::Prompt, key, None, 9)
        .await?;
    history(store).note(&line("mine")).await?;
    history(store).log(&LogFilter::default(), None, 9).await?;
    history(store).keys(EntryKind::Prompt).await?;
    history(store).collect(EntryKind::Prompt, key, 2).await?;
    Ok(())
}

/// The permissions in docs/stores.md are sufficient. Missing ones are named, and no label points at
/// a missing version even if a script fails midway.
#[tokio::test(flavor = "multi_thread")]
async fn rights_are_named_where_they_are_missing() {
    let server = RedisServer::start();
    let store = opened(&server.url_of_a_user_with_few_rights()).await;
    let all = opened(&server.url()).await;
    let key = EntryKey::new("mine");
    do_all(&store, &key, "first").await.unwrap();
    for right in [
        "eval",
        "get",
        "set",
        "hget",
        "hmget",
        "hset",
        "hsetnx",
        "hincrby",
        "hdel",
        "xadd",
        "xrevrange",
    ] {
        server.cli(&["ACL", "SETUSER", "few", &format!("-{right}")]);
        let error = do_all(&store, &key, right).await.unwrap_err();
        assert_eq!(error.kind, StoreErrorKind::Refused, "{right}: {error}");
        assert!(
            error.message.contains("+eval +get +@hash"),
            "{right}: {error}"
        );
        let labels = one(&all, EntryKind::Label, "prompt:mine").await.unwrap();
        let labels = Labels::parse(&labels).unwrap();
        let known = numbers(&versions(&all, &key).await);
        assert!(
            known.iter().any(|number| labels.points_at(*number)),
            "{right}: {labels:?}"
        );
        server.cli(&["ACL", "SETUSER", "few", &format!("+{right}")]);
        do_all(&store, &key, &format!("{right} again"))
            .await
            .unwrap();
        assert_eq!(
            one(&all, EntryKind::Prompt, "mine").await,
            Some(prompt(&format!("{right} again")))
        );
    }
}

/// All keys of a definition share a hash slot; if that is impossible, nothing is written.
#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_refuses_braces_that_it_cannot_keep_together() {
    let cluster = Cluster::start();
    let store = opened(&cluster.url()).await;
    let labels = vec!["production".to_owned()];
    for at in 0..30 {
        let labelled = Commit {
            labels: labels.clone(),
            ..write(&EntryKey::new(format!("k:{at}")), "one")
        };
        keep(&store, &labelled).await.unwrap();
    }
    for node in &cluster.nodes {
        assert_ne!(node.cli(&["DBSIZE"]), "0", "histories are on all nodes");
    }
    assert_eq!(
        history(&store).keys(EntryKind::Prompt).await.unwrap().len(),
        30
    );
    assert_eq!(store.load(EntryKind::Label).await.unwrap().len(), 30);
    let tagged = EntryKey::new("{t}:a");
    let labelled = Commit {
        labels,
        ..write(&tagged, "one")
    };
    keep(&store, &labelled).await.unwrap();
    assert_eq!(texts(&store, &tagged).await, [prompt("one")]);
    for (at, key) in ["a{b", "a}b", "{}a"]
        .map(EntryKey::new)
        .into_iter()
        .enumerate()
    {
        store.put(EntryKind::Prompt, &key, "{}").await.unwrap();
        let error = keep(&store, &write(&key, "one")).await.unwrap_err();
        assert_eq!(error.kind, StoreErrorKind::Refused, "{error}");
        assert!(error.message.contains("Cluster"), "{error}");
        // Other definitions are still recorded.
        let other = EntryKey::new(format!("beside:{at}"));
        store.put(EntryKind::Prompt, &other, "{}").await.unwrap();
        let keys = [key.clone(), other.clone()];
        let seen = history(&store)
            .observe(EntryKind::Prompt, &keys, STORE)
            .await;
        let seen: Vec<EntryKey> = seen.unwrap().into_iter().map(|(key, _)| key).collect();
        assert_eq!(seen, [other]);
        assert_eq!(versions(&store, &key).await, []);
    }
}

/// Ten concurrent clients change one definition: all succeed, and no number is used twice.
#[tokio::test(flavor = "multi_thread")]
async fn many_writers_of_one_definition_all_get_through() {
    const EACH: u64 = 20;
    let server = RedisServer::start();
    let key = EntryKey::new("one");
    let mut writers = Vec::new();
    for writer in 0..10 {
        let (store, key) = (opened(&server.url()).await, key.clone());
        writers.push(tokio::spawn(async move {
            let mut answered = Vec::new();
            for round in 0..EACH {
                let labelled = Commit {
                    labels: vec![format!("writer-{writer}")],
                    ..write(&key, &format!("{writer} {round}"))
                };
                answered.push(keep(&store, &labelled).await.unwrap().version.number);
            }
            answered
        }));
    }
    let mut answered = Vec::new();
    for writer in writers {
        answered.extend(writer.await.unwrap());
    }
    answered.sort_unstable();
    assert_eq!(answered, (1..=10 * EACH).collect::<Vec<_>>());
    let store = opened(&server.url()).await;
    assert_eq!(numbers(&versions(&store, &key).await), answered);
    let labels = one(&store, EntryKind::Label, "prompt:one").await.unwrap();
    assert_eq!(labels.matches("writer-").count(), 10);
}

/// Redis executes the commit, but the reply arrives too late. A retry returns the existing version.
#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_was_lost_makes_no_second_version() {
    let server = RedisServer::start();
    let options = StoreOptions {
        response_timeout: Duration::from_millis(300),
        ..StoreOptions::default()
    };
    let store = open_with(&server.url(), &options).await;
    becomes(&store, true).await;
    let key = EntryKey::new("lost");
    let first = keep_all(&store, &key, &["one"]).await;
    server.cli(&["CLIENT", "PAUSE", "1500", "ALL"]);
    let commit = Commit {
        expect: WritePrecondition::Version(first.number),
        labels: vec!["production".to_owned()],
        ..write(&key, "two")
    };
    let error = keep(&store, &commit).await.unwrap_err();
    assert_eq!(error.kind, StoreErrorKind::Unavailable, "{error}");
    server.cli(&["CLIENT", "UNPAUSE"]);
    becomes(&store, true).await;
    let commit = Commit {
        expect: WritePrecondition::Anything,
        ..commit
    };
    let again = loop {
        match keep(&store, &commit).await {
            Ok(done) => break done,
            Err(error) => assert_eq!(error.kind, StoreErrorKind::Unavailable, "{error}"),
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    };
    assert_eq!(again.version.number, 2);
    assert_eq!(numbers(&versions(&store, &key).await), [1, 2]);
}
