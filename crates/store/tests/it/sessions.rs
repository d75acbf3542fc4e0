//! Contract tests of all session stores.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use quillet_core::session::{Sessions, StoredMessage};
use quillet_core::store::StoreErrorKind;
use quillet_core::{ContentPart, Message, NativeTurn, Role, ToolCall};
use quillet_store::{SessionOptions, open_sessions};
use quillet_test_support::{Cluster, RedisServer, SentinelSet, TempDir};

use crate::support::patient;

async fn sessions(address: &str, options: &SessionOptions) -> Arc<dyn Sessions> {
    open_sessions(address, &patient(), options).await.unwrap()
}

fn turn(id: impl Into<String>, message: Message) -> StoredMessage {
    StoredMessage {
        id: id.into(),
        created_ms: 1_700_000_000_123,
        message,
        loaded_skills: Vec::new(),
        partial: false,
    }
}

fn said(id: impl Into<String>) -> StoredMessage {
    let id = id.into();
    turn(id.clone(), Message::new(Role::User, format!("said {id}")))
}

fn ids(turns: &[StoredMessage]) -> Vec<&str> {
    turns.iter().map(|turn| turn.id.as_str()).collect()
}

/// One message of every form.
fn all_shapes() -> Vec<StoredMessage> {
    let media = ContentPart::media("data:image/png;base64,AAAA", None, None);
    let call = ToolCall {
        id: "call_1".into(),
        name: "search".into(),
        arguments: "{\"q\": \"a\\u0000\", \"cut".into(),
    };
    let native = NativeTurn {
        wire: "anthropic".into(),
        model: Some("claude".into()),
        content: serde_json::json!([{"type": "thinking", "signature": "s=", "n": 1.5e300, "z": null, "a": -0.0}]),
    };
    let assistant = Message {
        tool_calls: vec![call],
        reasoning: Some("\u{0}\u{2028}hm".into()),
        native: Some(native),
        name: Some("a b".into()),
        ..Message::new(Role::Assistant, "")
    };
    let failed = Message {
        is_error: true,
        ..Message::tool("call_1", "no \"luck\"\r\n")
    };
    let cut = StoredMessage {
        loaded_skills: vec!["pdf".into(), "日本".into()],
        partial: true,
        ..turn("d", Message::new(Role::Assistant, "ha"))
    };
    vec![
        turn(
            "a",
            Message::new(Role::User, vec![ContentPart::text("see ☂"), media]),
        ),
        turn("b", assistant),
        turn("c", failed),
        cut,
    ]
}

async fn keeps_messages_exactly(sessions: &Arc<dyn Sessions>) {
    let turns = all_shapes();
    sessions.append("exact", &turns).await.unwrap();
    assert_eq!(sessions.load("exact", 100).await.unwrap(), turns);
    assert_eq!(sessions.load("exact", 2).await.unwrap(), turns[2..]);
    assert_eq!(sessions.load("exact", 0).await.unwrap(), []);
    assert_eq!(sessions.load("nobody", 9).await.unwrap(), []);
    sessions.append("exact", &[]).await.unwrap();
    sessions.append("empty", &[]).await.unwrap();
    let list = sessions.list(10).await.unwrap();
    let list: Vec<(&str, u64)> = list.iter().map(|info| (&*info.id, info.messages)).collect();
    assert_eq!(list, [("exact", 4)]);
}

async fn lists_the_latest_first(sessions: &Arc<dyn Sessions>) {
    for id in ["a", "b", "a", "c"] {
        sessions.append(id, &[said("x")]).await.unwrap();
        // Some stores order by milliseconds.
        tokio::time::sleep(Duration::from_millis(3)).await;
    }
    let list = sessions.list(3).await.unwrap();
    let list: Vec<(&str, u64)> = list.iter().map(|info| (&*info.id, info.messages)).collect();
    assert_eq!(list, [("c", 1), ("a", 2), ("b", 1)]);
    assert!(sessions.remove("a").await.unwrap());
    assert!(!sessions.remove("a").await.unwrap());
    assert_eq!(sessions.load("a", 9).await.unwrap(), []);
    assert_eq!(sessions.list(99).await.unwrap().len(), 3);
}

async fn keeps_hostile_ids_apart(sessions: &Arc<dyn Sessions>) {
    let odd = [
        "{a}", "a}", "{", "}:b", "a:b", "%7Ba%7D", "*", "a b", "../x", "'; DROP", "☂", "{}",
    ];
    for id in odd {
        sessions.append(id, &[said(id)]).await.unwrap();
    }
    for id in odd {
        assert_eq!(ids(&sessions.load(id, 9).await.unwrap()), [id]);
    }
    for id in odd {
        assert!(sessions.remove(id).await.unwrap(), "{id}");
    }
    for id in ["", "a\nb", "\0", &"x".repeat(10_000)] {
        for error in [
            sessions.append(id, &[said("x")]).await.unwrap_err(),
            sessions.load(id, 1).await.unwrap_err(),
            sessions.remove(id).await.unwrap_err(),
        ] {
            assert_eq!(error.kind, StoreErrorKind::Refused, "{error}");
            assert!(error.message.starts_with("session id "), "{error}");
        }
    }
}

async fn appends_of_many_stay_whole(sessions: &Arc<dyn Sessions>) {
    let batch = |n: usize| -> Vec<StoredMessage> {
        (0..5).map(|part| said(format!("{n}.{part}"))).collect()
    };
    let batches: Vec<Vec<StoredMessage>> = (0..40).map(batch).collect();
    let appends = batches.iter().map(|batch| sessions.append("many", batch));
    for done in join_all(appends).await {
        done.unwrap();
    }
    let turns = sessions.load("many", 1000).await.unwrap();
    assert_eq!(turns.len(), 200);
    for group in turns.chunks(5) {
        let first = group[0].id.strip_suffix(".0").expect("a batch begins here");
        assert_eq!(ids(group), ids(&batch(first.parse().unwrap())));
    }
    assert!(sessions.remove("many").await.unwrap());
}

async fn loads_ten_thousand(sessions: &Arc<dyn Sessions>) {
    let turns: Vec<StoredMessage> = (0..10_000).map(|n| said(n.to_string())).collect();
    for part in turns.chunks(2_500) {
        sessions.append("long", part).await.unwrap();
    }
    assert_eq!(sessions.load("long", usize::MAX).await.unwrap(), turns);
    sessions.append("long", &turns[..1]).await.unwrap();
    let loaded = sessions.load("long", usize::MAX).await.unwrap();
    assert_eq!(loaded.len(), 10_000, "the oldest made room");
    assert_eq!(loaded[0], turns[1]);
    assert!(sessions.remove("long").await.unwrap());
}

async fn holds(address: &str) {
    let sessions = sessions(address, &SessionOptions::default()).await;
    keeps_messages_exactly(&sessions).await;
    lists_the_latest_first(&sessions).await;
    keeps_hostile_ids_apart(&sessions).await;
    appends_of_many_stay_whole(&sessions).await;
    loads_ten_thousand(&sessions).await;
}

async fn keeps_bounds(address: &str) {
    let size = serde_json::to_string(&said("0")).unwrap().len();
    let options = SessionOptions {
        max_messages: 3,
        max_session_bytes: size * 2,
        ..SessionOptions::default()
    };
    let sessions = sessions(address, &options).await;
    let turns: Vec<StoredMessage> = (0..5).map(|n| said(n.to_string())).collect();
    sessions.append("s", &turns).await.unwrap();
    assert_eq!(ids(&sessions.load("s", 9).await.unwrap()), ["3", "4"]);
    sessions.append("s", &[said("5")]).await.unwrap();
    assert_eq!(ids(&sessions.load("s", 9).await.unwrap()), ["4", "5"]);
    let large = turn("large", Message::new(Role::User, "x".repeat(size * 2)));
    let error = sessions.append("s", &[said("6"), large]).await.unwrap_err();
    assert_eq!(error.kind, StoreErrorKind::Refused);
    assert!(error.message.contains("max_session_bytes"), "{error}");
    assert_eq!(
        ids(&sessions.load("s", 9).await.unwrap()),
        ["4", "5"],
        "all or none"
    );
}

async fn expires(address: &str) {
    let options = SessionOptions {
        expire: Some(Duration::from_millis(30)),
        ..SessionOptions::default()
    };
    let sessions = sessions(address, &options).await;
    sessions.append("s", &[said("1")]).await.unwrap();
    tokio::time::sleep(Duration::from_millis(60)).await;
    assert_eq!(sessions.load("s", 9).await.unwrap(), []);
    assert_eq!(sessions.list(9).await.unwrap(), []);
    assert!(!sessions.remove("s").await.unwrap());
    sessions.append("s", &[said("2")]).await.unwrap();
    let turns = sessions.load("s", 9).await.unwrap();
    assert!(
        turns.is_empty() || ids(&turns) == ["2"],
        "it began anew: {turns:?}"
    );
}

async fn forgets_the_oldest_session(address: &str) {
    let options = SessionOptions {
        max_sessions: 2,
        ..SessionOptions::default()
    };
    let sessions = sessions(address, &options).await;
    for id in ["a", "b", "a", "c"] {
        sessions.append(id, &[said("x")]).await.unwrap();
        tokio::time::sleep(Duration::from_millis(3)).await;
    }
    let list = sessions.list(9).await.unwrap();
    let list: Vec<&str> = list.iter().map(|info| &*info.id).collect();
    assert_eq!(list, ["c", "a"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn memory_keeps_sessions() {
    holds("memory:").await;
    keeps_bounds("memory:").await;
    expires("memory:").await;
    forgets_the_oldest_session("memory:").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sqlite_keeps_sessions() {
    let dir = TempDir::new();
    let address = |name: &str| format!("sqlite:{}/{name}.db", dir.path().display());
    holds(&address("holds")).await;
    keeps_bounds(&address("bounds")).await;
    expires(&address("expires")).await;
    forgets_the_oldest_session(&address("oldest")).await;
    expires("sqlite::memory:").await;
}

/// Each test of limits uses separate keys.
async fn redis_holds(url: &str) {
    let address = |prefix: &str| {
        if url.contains('?') {
            format!("{url}&prefix={prefix}:")
        } else {
            format!("{url}?prefix={prefix}:")
        }
    };
    holds(&address("holds")).await;
    keeps_bounds(&address("bounds")).await;
    expires(&address("expires")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn redis_keeps_sessions() {
    let server = RedisServer::start();
    redis_holds(&server.url()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn few_rights_are_enough_for_sessions() {
    let server = RedisServer::start();
    holds(&server.url_of_a_user_with_few_rights()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn redis_by_sentinels_keeps_sessions() {
    let set = SentinelSet::start();
    redis_holds(&set.url()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redis_cluster_keeps_sessions() {
    let cluster = Cluster::start();
    redis_holds(&cluster.url()).await;
}

/// A folder only stores definitions.
#[tokio::test(flavor = "multi_thread")]
async fn beside_a_folder_sessions_rest_in_memory() {
    let sessions = sessions("dir:.", &SessionOptions::default()).await;
    assert_eq!(sessions.describe(), "memory");
}
