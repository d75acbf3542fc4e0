//! A single Redis server: data of other programs, and the detection of changes.

use std::collections::BTreeMap;
use std::sync::Arc;

use quillet_core::store::{EntryKey, EntryKind, StoreChange, StoreErrorKind};
use quillet_store::StoreOptions;
use quillet_test_support::RedisServer;
use serde_json::Value;

use crate::support::{arrives, becomes, names, one, open, open_with, patient};

#[tokio::test(flavor = "multi_thread")]
async fn changes_by_others_are_told() {
    let server = RedisServer::start();
    sees_changes_of_others(&server, &server.url()).await;
}

/// A user who may not use tracking gets no notifications, so the store polls.
#[tokio::test(flavor = "multi_thread")]
async fn changes_are_found_without_notices() {
    let server = RedisServer::start();
    let rules = [
        "ACL",
        "SETUSER",
        "poor",
        "on",
        ">pw",
        "~*",
        "&*",
        "+@all",
        "-client|tracking",
    ];
    assert_eq!(server.cli(&rules), "OK");
    let url = server.url().replace("//", "//poor:pw@");
    sees_changes_of_others(&server, &url).await;
}

/// A proxy or a server before Redis 6 does not support HELLO, which enables RESP3.
#[tokio::test(flavor = "multi_thread")]
async fn changes_are_found_on_an_old_server() {
    let server = RedisServer::start_with(&["--rename-command", "HELLO", ""]);
    sees_changes_of_others(&server, &server.url()).await;
}

async fn sees_changes_of_others(server: &RedisServer, url: &str) {
    let store = open(url).await;
    becomes(&store, true).await;
    // If the store polls, the first poll must be complete.
    store
        .put(EntryKind::Tool, &EntryKey::new("first"), "1")
        .await
        .unwrap();
    let mut changes = store.changes();
    tokio::time::sleep(std::time::Duration::from_millis(1500)).await;

    server.cli(&["SET", "shenma:templates:ext:p", "1"]);
    arrives(&mut changes, EntryKind::Prompt, "ext:p").await;
    assert_eq!(
        one(&store, EntryKind::Prompt, "ext:p").await.as_deref(),
        Some("1")
    );

    server.cli(&["SET", "shenma:templates:ext:p", "2", "PX", "2500"]);
    arrives(&mut changes, EntryKind::Prompt, "ext:p").await;
    assert_eq!(
        one(&store, EntryKind::Prompt, "ext:p").await.as_deref(),
        Some("2")
    );

    arrives(&mut changes, EntryKind::Prompt, "ext:p").await;
    assert_eq!(
        one(&store, EntryKind::Prompt, "ext:p").await,
        None,
        "it has expired"
    );

    server.cli(&["SET", "shenma:agents:helper", "{\"model\": \"m\"}"]);
    arrives(&mut changes, EntryKind::Agent, "helper").await;
    assert_eq!(
        names(&store.load(EntryKind::Agent).await.unwrap()),
        ["helper"]
    );

    server.cli(&["SET", "shenma:environs:vscode:lang", "\"go\""]);
    arrives(&mut changes, EntryKind::Environ, "vscode:lang").await;
    server.cli(&["DEL", "shenma:environs:vscode:lang"]);
    arrives(&mut changes, EntryKind::Environ, "vscode:lang").await;
    assert_eq!(store.keys(EntryKind::Environ).await.unwrap(), []);

    server.cli(&["FLUSHALL"]);
    arrives(&mut changes, EntryKind::Tool, "first").await;
    assert_eq!(store.keys(EntryKind::Tool).await.unwrap(), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn many_changes_at_once_are_told_in_few() {
    let server = RedisServer::start();
    let store = open(&server.url()).await;
    becomes(&store, true).await;
    let mut changes = store.changes();
    fill(&server, "shenma:environs:m:", 5000);
    let change = arrives(&mut changes, EntryKind::Environ, "m:1").await;
    assert_ne!(
        change,
        StoreChange::Entry(EntryKind::Environ, EntryKey::new("m:1"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_is_no_text_is_listed_and_hides_no_other() {
    let server = RedisServer::start();
    server.cli(&["SET", "shenma:tools:a", "{}"]);
    server.cli(&["RPUSH", "shenma:tools:b", "x"]);
    server.cli(&[
        "EVAL",
        "redis.call('SET', 'shenma:tools:c', '\"\\255\"')",
        "0",
    ]);
    server.cli(&["SET", "shenma:tools:d", "{\"a\": "]);
    server.cli(&["SET", "shenma:tools:", "no name"]);
    server.cli(&["EVAL", "redis.call('SET', 'shenma:tools:\\255', '1')", "0"]);
    let store = open(&server.url()).await;

    let entries = store.load(EntryKind::Tool).await.unwrap();
    assert_eq!(names(&entries), ["a", "b", "c", "d"]);
    let problems: Vec<Option<String>> = entries
        .iter()
        .map(|entry| entry.problem.as_ref().map(ToString::to_string))
        .collect();
    assert_eq!(problems[0], None);
    let wrong_type = problems[1].as_deref().unwrap();
    assert!(
        wrong_type.starts_with("shenma:tools:b: the key holds a list"),
        "{wrong_type}"
    );
    assert!(
        problems[2]
            .as_deref()
            .unwrap()
            .contains("invalid UTF-8 at byte offset 1")
    );
    assert_eq!(
        (problems[3].as_deref(), &*entries[3].text),
        (None, "{\"a\": ")
    );

    let keys = ["a", "b", "c", "d"].map(EntryKey::new);
    let texts = store.get(EntryKind::Tool, &keys).await.unwrap();
    let there: Vec<bool> = texts.iter().map(Option::is_some).collect();
    assert_eq!(there, [true, false, false, true]);
}

#[tokio::test(flavor = "multi_thread")]
async fn prefixes_stand_for_themselves() {
    let server = RedisServer::start();
    server.cli(&["SET", "a*[b]?\\:tools:x", "1"]);
    server.cli(&["SET", "axxxb?\\:tools:y", "2"]);
    server.cli(&["SET", "shenma:tools:z", "3"]);
    let options = StoreOptions {
        prefix: Some("a*[b]?\\:".to_owned()),
        ..StoreOptions::default()
    };
    let store = open_with(&server.url(), &options).await;
    assert_eq!(
        store.keys(EntryKind::Tool).await.unwrap(),
        [EntryKey::new("x")]
    );
    let mut changes = store.changes();
    server.cli(&["SET", "a*[b]?\\:tools:w", "4"]);
    arrives(&mut changes, EntryKind::Tool, "w").await;

    // The address takes precedence over the options.
    let store = open_with(&format!("{}?prefix=shenma:", server.url()), &options).await;
    assert_eq!(
        store.keys(EntryKind::Tool).await.unwrap(),
        [EntryKey::new("z")]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn databases_are_apart() {
    let server = RedisServer::start();
    server.cli(&["-n", "3", "SET", "shenma:tools:x", "1"]);
    for (path, expected) in [("", 0), ("/3", 1), ("?db=3", 1)] {
        let store = open(&format!("{}{path}", server.url())).await;
        let found = store.keys(EntryKind::Tool).await.unwrap().len();
        assert_eq!(found, expected, "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn passwords_are_used_and_wrong_ones_named() {
    let server = RedisServer::start();
    server.cli(&[
        "ACL",
        "SETUSER",
        "ann",
        "on",
        ">s3:cret",
        "~shenma:*",
        "+@all",
    ]);
    server.cli(&[
        "ACL",
        "SETUSER",
        "bob",
        "on",
        ">s3:cret",
        "~shenma:*",
        "+@read",
        "+@connection",
    ]);
    let url = |login: &str| server.url().replace("//", &format!("//{login}@"));

    let store = open(&url("ann:s3%3Acret")).await;
    store
        .put(EntryKind::Tool, &EntryKey::new("x"), "1")
        .await
        .unwrap();

    let reader = open(&url("bob:s3%3Acret")).await;
    assert_eq!(
        one(&reader, EntryKind::Tool, "x").await.as_deref(),
        Some("1")
    );
    let refused = reader
        .put(EntryKind::Tool, &EntryKey::new("x"), "2")
        .await
        .unwrap_err();
    assert_eq!(refused.kind, StoreErrorKind::Refused);
    assert!(refused.message.contains("shenma:tools:x"), "{refused}");

    let stranger = open(&url("ann:wr0ng")).await;
    let refused = stranger.load(EntryKind::Tool).await.unwrap_err();
    assert_eq!(refused.kind, StoreErrorKind::Refused, "{refused}");
    let reason = becomes(&stranger, false).await;
    assert!(
        !reason.contains("wr0ng") && reason.contains("127.0.0.1"),
        "{reason}"
    );
}

/// The permissions in docs/stores.md are sufficient.
#[tokio::test(flavor = "multi_thread")]
async fn few_rights_are_needed() {
    let server = RedisServer::start();
    let rights = "+getrange +exists +set +del +scan +ping +client|tracking";
    let rights = rights.split(' ');
    let user = ["ACL", "SETUSER", "low", "on", ">pw", "~shenma:*", "-@all"];
    let command: Vec<&str> = user.into_iter().chain(rights).collect();
    assert_eq!(server.cli(&command), "OK");
    let store = open(&server.url().replace("//", "//low:pw@")).await;
    let key = EntryKey::new("x");
    store.put(EntryKind::Tool, &key, "1").await.unwrap();
    assert_eq!(store.load(EntryKind::Tool).await.unwrap().len(), 1);
    let mut changes = store.changes();
    server.cli(&["SET", "shenma:tools:y", "2"]);
    let change = arrives(&mut changes, EntryKind::Tool, "y").await;
    assert_eq!(
        change,
        StoreChange::Entry(EntryKind::Tool, EntryKey::new("y"))
    );
    assert!(store.remove(EntryKind::Tool, &key).await.unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn values_over_the_limit_are_not_written() {
    let server = RedisServer::start();
    let options = StoreOptions {
        max_value_bytes: 10,
        ..StoreOptions::default()
    };
    let store = open_with(&server.url(), &options).await;
    store
        .put(EntryKind::Tool, &EntryKey::new("x"), "1234567890")
        .await
        .unwrap();
    assert_eq!(
        one(&store, EntryKind::Tool, "x").await.as_deref(),
        Some("1234567890")
    );
    let refused = store
        .put(EntryKind::Tool, &EntryKey::new("x"), "12345678901")
        .await
        .unwrap_err();
    assert_eq!(refused.kind, StoreErrorKind::Refused);
    assert!(refused.message.contains("max_value_bytes"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn tls_wants_a_certificate_that_it_trusts() {
    let server = RedisServer::start_tls();
    let url = server.url().replace("redis:", "rediss:");
    let ca = server.dir.path().join("ca.crt");

    let store = open(&format!("{url}?ca={}", ca.display())).await;
    store
        .put(EntryKind::Tool, &EntryKey::new("x"), "1")
        .await
        .unwrap();
    let mut changes = store.changes();
    server.cli(&["SET", "shenma:tools:y", "2"]);
    arrives(&mut changes, EntryKind::Tool, "y").await;

    let store = open(&format!("{url}?insecure=true")).await;
    assert_eq!(
        one(&store, EntryKind::Tool, "x").await.as_deref(),
        Some("1")
    );

    let stranger = open(&url).await;
    let error = stranger.load(EntryKind::Tool).await.unwrap_err();
    assert_eq!(error.kind, StoreErrorKind::Unavailable);

    let plain = open(&server.url()).await;
    assert!(plain.load(EntryKind::Tool).await.is_err());
}

#[tokio::test]
async fn a_certificate_file_that_is_none_is_refused_at_once() {
    for file in [
        "/nowhere/ca.crt",
        concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"),
    ] {
        let url = format!("rediss://127.0.0.1:1?ca={file}");
        let refused = quillet_store::open(&url, &StoreOptions::default())
            .await
            .unwrap_err();
        assert_eq!(
            refused.kind,
            StoreErrorKind::Configuration,
            "{file}: {refused}"
        );
        assert!(refused.message.contains(file), "{refused}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_thousand_keys_are_all_found() {
    let server = RedisServer::start();
    fill(&server, "shenma:environs:m:", 100_000);
    let store = open_with(&server.url(), &patient()).await;
    let keys = store.keys(EntryKind::Environ).await.unwrap();
    assert_eq!(keys.len(), 100_000);
    assert!(keys.is_sorted());
    let entries = store.load(EntryKind::Environ).await.unwrap();
    assert_eq!(entries.len(), 100_000);
    assert!(entries.iter().all(|entry| &*entry.text == "1"));
    assert!(
        !server
            .cli(&["INFO", "commandstats"])
            .contains("cmdstat_keys")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_keys_are_kept_apart() {
    let file = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../conformance/hostile/redis_keys.jsonl"
    );
    let lines = std::fs::read_to_string(file).unwrap();
    for line in lines.lines() {
        let vector: Value = serde_json::from_str(line).unwrap();
        let server = RedisServer::start();
        let store = open_with(&server.url(), &patient()).await;
        let written = write_vector(&server, &vector).await;
        store
            .put(EntryKind::Environ, &EntryKey::new("control"), "1")
            .await
            .unwrap();

        let mut found = BTreeMap::new();
        for kind in EntryKind::ALL {
            for entry in store.load(kind).await.unwrap() {
                // The catalogue validates JSON; the store only rejects values that are too long.
                assert_eq!(entry.problem.is_some(), entry.key.as_str() == "big");
                found.insert((kind, entry.key.clone()), entry);
            }
        }
        assert_eq!(found.len(), written + 1, "{}", vector["id"]);
        assert_eq!(
            one(&store, EntryKind::Environ, "control").await.as_deref(),
            Some("1")
        );
    }
}

/// Writes the keys of a test vector and returns their number.
async fn write_vector(server: &RedisServer, vector: &Value) -> usize {
    if let Some(many) = vector.get("many") {
        let count = usize::try_from(many["count"].as_u64().unwrap()).unwrap();
        fill(server, many["prefix"].as_str().unwrap(), count);
        return count;
    }
    let keys = vector["keys"].as_object().unwrap();
    for (name, value) in keys {
        match value {
            Value::String(text) => server.cli(&["SET", name, text]),
            other => set_repeated(server, name, &other["segments"]),
        };
    }
    keys.len()
}

/// Too long for a command line, so the server repeats the text.
fn set_repeated(server: &RedisServer, name: &str, segments: &Value) -> String {
    let parts = segments.as_array().unwrap().iter().map(|segment| {
        let text = segment[0].as_str().unwrap().replace('"', "\\\"");
        format!("string.rep(\"{text}\", {})", segment[1])
    });
    let value = parts.collect::<Vec<_>>().join(" .. ");
    server.cli(&[
        "EVAL",
        &format!("redis.call('SET', KEYS[1], {value})"),
        "1",
        name,
    ])
}

fn fill(server: &RedisServer, prefix: &str, count: usize) {
    let script = format!("for i = 1, {count} do redis.call('SET', KEYS[1] .. i, '1') end");
    server.cli(&["EVAL", &script, "1", prefix]);
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_waits_long_for_a_server_that_hangs() {
    let server = Arc::new(RedisServer::start());
    let store = open(&server.url()).await;
    store
        .put(EntryKind::Environ, &EntryKey::new("x"), "1")
        .await
        .unwrap();
    let asleep = server.clone();
    let sleeper = std::thread::spawn(move || asleep.cli(&["DEBUG", "SLEEP", "4"]));
    let reason = becomes(&store, false).await;
    assert!(reason.contains("127.0.0.1"), "{reason}");
    let error = store
        .get(EntryKind::Environ, &[EntryKey::new("x")])
        .await
        .unwrap_err();
    assert_eq!(error.kind, StoreErrorKind::Unavailable);
    sleeper.join().unwrap();
    becomes(&store, true).await;
    assert_eq!(
        one(&store, EntryKind::Environ, "x").await.as_deref(),
        Some("1")
    );
}
