//! Revisions: reads after writes and conditional requests.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use quillet_core::store::EntryKind::Prompt;
use quillet_core::store::{EntryKey, Store};
use quillet_prompt::Revision;
use quillet_server::ServerConfig;
use quillet_test_support::RedisServer;

use crate::client::{Answer, get, post, request};
use crate::redis::serve;
use crate::test_server::{Setup, eventually, start, start_with};

/// A plain Redis client that writes definitions.
struct Writer(BufReader<TcpStream>);

impl Writer {
    fn to(redis: &RedisServer) -> Self {
        Writer(BufReader::new(
            TcpStream::connect(("127.0.0.1", redis.port)).unwrap(),
        ))
    }

    fn set(&mut self, key: &str, text: &str) {
        let (keys, texts) = (key.len(), text.len());
        let command = format!("*3\r\n$3\r\nSET\r\n${keys}\r\n{key}\r\n${texts}\r\n{text}\r\n");
        self.0.get_mut().write_all(command.as_bytes()).unwrap();
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        assert_eq!(line, "+OK\r\n");
    }
}

async fn render(address: SocketAddr, least: &str) -> Answer {
    let headers = [("quillet-min-revision", least)];
    request(address, "POST", "/api/prompts/p/render", &headers, "{}").await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_written_to_redis_is_read_back_on_any_replica() {
    let redis = RedisServer::start();
    let mut writer = Writer::to(&redis);
    writer.set("shenma:templates:p", r#"{"prompt":"first"}"#);
    writer.set("shenma:environs:v", "0");
    let replicas = [serve(&redis.url()).await, serve(&redis.url()).await];
    for replica in replicas {
        eventually("ready", async || {
            get(replica, "/readyz").await.status == 200
        })
        .await;
    }
    for round in 0..300_usize {
        let text = format!(r#"{{"prompt":"round {round}: {{{{.v}}}}"}}"#);
        let first = replicas[round % 2];
        writer.set("shenma:environs:v", &round.to_string());
        writer.set("shenma:templates:p", &text);
        let revision = Revision::of(text.as_bytes()).to_string();
        // Require the written revision or `latest`.
        let least = if round % 3 == 0 {
            revision.as_str()
        } else {
            "latest"
        };
        for replica in [first, replicas[(round + 1) % 2]] {
            let answer = render(replica, least).await;
            assert_eq!(answer.status, 200, "{answer:?}");
            assert_eq!(answer.header("quillet-revision"), Some(revision.as_str()));
            let text = answer.json()["prompt"].as_str().unwrap().to_owned();
            assert!(text.starts_with(&format!("round {round}: ")), "{text}");
            if least == "latest" {
                assert_eq!(text, format!("round {round}: {round}"));
            }
        }
    }
}

#[tokio::test]
async fn a_get_tells_its_entity_and_sends_it_once() {
    let server = start().await;
    for path in [
        "/api/prompts",
        "/api/prompts?detail=true",
        "/api/tools",
        "/api/extensions",
        "/api/environs",
        "/api/environs?detail=true",
        "/api/prompts/hello",
        "/api/tools/codebase.lookup",
        "/api/extensions/zgsm.evaluator",
        "/api/environs/vscode",
    ] {
        let first = server.get(path).await;
        let tag = first.header("etag").unwrap_or_default().to_owned();
        assert_eq!((first.status, tag.len()), (200, 34), "{path}: {first:?}");
        for (known, status) in [
            (tag.clone(), 304),
            (format!("\"other\", W/{tag}"), 304),
            ("*".to_owned(), 304),
            ("\"other\"".to_owned(), 200),
        ] {
            let headers = [("if-none-match", known.as_str())];
            let again = request(server.address, "GET", path, &headers, "").await;
            assert_eq!(again.status, status, "{path} {known}");
            assert_eq!(again.header("etag"), Some(tag.as_str()), "{path} {known}");
            assert_eq!(again.body.is_empty(), status == 304, "{path} {known}");
        }
    }
    let before = server.get("/api/prompts/hello").await;
    server
        .store
        .put(Prompt, &EntryKey::new("hello"), r#"{"prompt":"x"}"#)
        .await
        .unwrap();
    let after = server.get("/api/prompts/hello?min_revision=latest").await;
    assert_ne!(before.header("etag"), after.header("etag"));
    let revision = Revision::of(br#"{"prompt":"x"}"#).to_string();
    assert_eq!(after.header("quillet-revision"), Some(revision.as_str()));
}

#[tokio::test]
async fn a_revision_that_does_not_come_is_an_error_that_says_what_there_is() {
    let config = ServerConfig {
        listen: ([127, 0, 0, 1], 0).into(),
        revision_time: Duration::from_millis(60),
        ..ServerConfig::default()
    };
    let server = start_with(Setup {
        config,
        ..Setup::default()
    })
    .await;
    let other = Revision::of(b"never written").to_string();
    let cases = [
        (
            "POST",
            format!("/api/render/prompts/a.b.c?min_revision={other}"),
            409,
            "revision.unseen",
        ),
        (
            "GET",
            format!("/api/prompts/a.b.c?min_revision={other}"),
            409,
            "revision.unseen",
        ),
        (
            "GET",
            format!("/api/prompts/nothing?min_revision={other}"),
            409,
            "revision.unseen",
        ),
        (
            "POST",
            format!("/api/chat/prompts/a.b.c?min_revision={other}"),
            409,
            "revision.unseen",
        ),
        (
            "GET",
            "/api/prompts/a.b.c?min_revision=7".to_owned(),
            400,
            "request.revision",
        ),
        (
            "GET",
            format!("/api/prompts?min_revision={other}"),
            400,
            "request.revision",
        ),
        (
            "GET",
            "/api/prompts?min_revision=latest".to_owned(),
            200,
            "",
        ),
        (
            "POST",
            "/api/render/prompts/a.b.c?min_revision=latest".to_owned(),
            200,
            "",
        ),
    ];
    for (method, path, status, code) in cases {
        let answer = request(server.address, method, &path, &[], "").await;
        assert_eq!(answer.status, status, "{path}: {answer:?}");
        assert_eq!(
            answer.json()["error"].as_str().unwrap_or_default(),
            code,
            "{path}"
        );
    }
    let unseen = server
        .get(&format!("/api/prompts/a.b.c?min_revision={other}"))
        .await;
    let is = Revision::of(br#"{"prompt":"dotted"}"#).to_string();
    assert!(unseen.body.contains(&is), "{unseen:?}");
}

/// Before the first read of the store, an empty list would be misleading.
#[tokio::test]
async fn nothing_is_listed_before_the_store_was_read() {
    let setup = Setup {
        load: false,
        ..Setup::default()
    };
    let server = start_with(setup).await;
    let paths = [
        "/api/prompts",
        "/api/prompts?detail=true",
        "/api/extensions",
        "/api/tools",
        "/api/environs",
        "/api/environs?detail=true",
        "/api/prompts/hello",
        "/api/extensions/x",
        "/api/tools/x",
        "/api/environs/vscode",
        "/v1/models",
    ];
    for path in paths {
        let answer = server.get(path).await;
        assert_eq!(answer.status, 503, "{path}: {answer:?}");
        assert!(
            answer.body.contains("the test store is away"),
            "{path}: {answer:?}"
        );
        assert!(answer.header("retry-after").is_some(), "{path}");
    }
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"prompts/list"}"#;
    assert_eq!(server.post("/mcp", list).await.status, 503);
    server.store.set_away(false);
    eventually("read", async || {
        server.get("/api/prompts").await.status == 200
    })
    .await;
    assert!(server.get("/api/prompts").await.body.contains("hello"));
}

/// An invalid shared variable is reported both when it is rendered and when it is read.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_variable_that_cannot_be_used_is_named_with_its_reason() {
    let redis = RedisServer::start();
    let commands: [&[&str]; 5] = [
        &["LPUSH", "shenma:environs:lst", "a"],
        &["HSET", "shenma:environs:tree:hash", "a", "b"],
        &["SETRANGE", "shenma:environs:large", "9000000", "x"],
        &[
            "EVAL",
            "return redis.call('SET', KEYS[1], 'caf\\233')",
            "1",
            "shenma:environs:latin",
        ],
        &["SET", "shenma:environs:tree:good", "1"],
    ];
    for command in commands {
        redis.cli(command);
    }
    let cases = [
        ("lst", "not a string"),
        ("tree.hash", "not a string"),
        ("large", "longer than the limit of 8388608 bytes"),
        ("latin", "invalid UTF-8 at byte offset 3"),
    ];
    for (id, _) in cases {
        let key = format!("shenma:templates:uses:{}", id.replace('.', ":"));
        redis.cli(&["SET", &key, &format!(r#"{{"prompt":"{{{{.{id}}}}}"}}"#)]);
    }
    let address = serve(&redis.url()).await;
    eventually("ready", async || {
        get(address, "/readyz").await.status == 200
    })
    .await;
    let detail = get(address, "/api/environs?detail=true").await.json();
    for (id, reason) in cases {
        let asked = get(address, &format!("/api/environs/{id}")).await;
        let used = post(address, &format!("/api/render/prompts/uses.{id}"), "{}").await;
        for answer in [asked, used] {
            let code = answer.json()["error"].clone();
            assert_eq!(
                (answer.status, code.as_str()),
                (400, Some("definition.invalid")),
                "{answer:?}"
            );
            assert!(
                answer.json()["detail"].as_str().unwrap().contains(reason),
                "{answer:?}"
            );
            assert!(!answer.body.contains("missing") && !answer.body.contains("does not exist"));
        }
        let listed = detail
            .as_array()
            .unwrap()
            .iter()
            .find(|item| item["id"] == id);
        let listed = listed.unwrap_or_else(|| panic!("{id} is not in {detail}"));
        assert_eq!(listed["status"], "invalid");
        assert!(
            listed["diagnostics"][0].to_string().contains(reason),
            "{listed}"
        );
    }
    assert_eq!(get(address, "/api/environs/tree").await.json()["good"], 1);
}
