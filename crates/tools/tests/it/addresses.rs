//! Address checks of tools, with the published hostile URLs and a listener that must receive no
//! connection.

use std::collections::HashMap;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use quillet_core::BoxFuture;
use quillet_core::tool::ToolErrorKind;
use quillet_tools::address::{AddressPolicy, AddressScope};
use quillet_tools::{Lookup, Tools, ToolsConfig};
use serde_json::{Value, json};

use crate::http_server::HttpServer;
use crate::support::{call, try_build};

/// DNS names of the test vectors. Each lookup of a name returns its next answer.
#[derive(Debug)]
struct Scripted {
    names: HashMap<&'static str, Vec<IpAddr>>,
    looked_up: AtomicUsize,
}

impl Scripted {
    fn new(names: &[(&'static str, &[&str])]) -> Arc<Self> {
        let parsed = names.iter().map(|(name, answers)| {
            (
                *name,
                answers
                    .iter()
                    .map(|answer| answer.parse().unwrap())
                    .collect(),
            )
        });
        Arc::new(Scripted {
            names: parsed.collect(),
            looked_up: AtomicUsize::new(0),
        })
    }
}

impl Lookup for Scripted {
    fn lookup<'a>(&'a self, host: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        let turn = self.looked_up.fetch_add(1, Ordering::SeqCst);
        let answers = self
            .names
            .get(host)
            .map(|answers| vec![answers[turn % answers.len()]]);
        Box::pin(
            async move { answers.ok_or_else(|| io::Error::other(format!("{host} is unknown"))) },
        )
    }
}

fn config(scope: AddressScope, allow: &[&str]) -> ToolsConfig {
    ToolsConfig {
        addresses: AddressPolicy {
            scope,
            allow: allow.iter().map(|rule| rule.parse().unwrap()).collect(),
        },
        ..ToolsConfig::default()
    }
}

fn vectors() -> Vec<Value> {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../conformance/hostile/urls.jsonl"
    );
    let text = std::fs::read_to_string(path).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Whether a tool with this URL is rejected, either when it is defined or when it is called.
async fn refused(tools: &Tools, url: &str) -> bool {
    let definition =
        json!({"type": "restful", "method": "GET", "url": url, "timeout_ms": 4000}).to_string();
    match try_build(tools, &definition) {
        Err(_) => true,
        Ok(built) => match call(&*built.tool, "{}").await {
            Err(error) => error.kind == ToolErrorKind::Refused,
            Ok(_) => false,
        },
    }
}

#[tokio::test]
async fn hostile_urls() {
    let server = HttpServer::start().await;
    let port = server.address.port().to_string();
    let redirect = format!("http://127.0.0.1:{port}/to?http://169.254.169.254/");
    let names = Scripted::new(&[
        ("localhost", &["127.0.0.1"]),
        ("169.254.169.254.nip.io", &["169.254.169.254"]),
        ("mock-rebind", &["127.0.0.1"]),
        // No server listens at these addresses: the test only checks that a connection is
        // attempted.
        ("api.example.com", &["192.31.196.1"]),
        ("tools.internal.example", &["10.255.255.1"]),
    ]);
    let mut public = config(AddressScope::Public, &[]);
    let denying = Tools::with_lookup(public.clone(), names.clone()).unwrap();
    public.addresses.allow = vec!["tools.internal.example".parse().unwrap()];
    let listing = Tools::with_lookup(public, names).unwrap();
    let mut run = 0;
    for vector in vectors() {
        let id = vector["id"].as_str().unwrap();
        let url = vector["url"].as_str().unwrap();
        if url.contains("mock-redirect") {
            continue; // A separate test covers it, with an allowed first hop.
        }
        let quick = |url: &str| {
            (
                url.to_owned(),
                url.replace(":6379", &format!(":{port}"))
                    .replace(":8080", &format!(":{port}")),
            )
        };
        let (url, here) = quick(url);
        for url in [&url, &here] {
            let denied = refused(&denying, url).await;
            match vector["expect"].as_str().unwrap() {
                "deny" => assert!(denied, "{id}: {url} was not refused"),
                "allow" => assert!(!denied, "{id}: {url} was refused"),
                "allow_if_listed" => {
                    assert!(denied, "{id}: {url} is not listed");
                    assert!(!refused(&listing, url).await, "{id}: {url} is listed");
                }
                other => panic!("{id}: unknown expectation {other}"),
            }
        }
        run += 1;
    }
    assert_eq!(run, 24);
    assert_eq!(
        server.seen.connections.load(Ordering::SeqCst),
        0,
        "somebody came"
    );
    // This proves that the listener works: in the internal scope, the first hop is allowed and the
    // second is not.
    let internal = Tools::new(config(AddressScope::Internal, &[])).unwrap();
    assert!(refused(&internal, &redirect).await);
    assert_eq!(server.seen.requests.load(Ordering::SeqCst), 1);
}

/// REST, gRPC and MCP tools reject addresses in IANA's special-purpose blocks.
#[tokio::test]
async fn special_purpose_addresses_are_refused_from_outside() {
    let tools = Tools::new(config(AddressScope::Public, &[])).unwrap();
    let inside = Tools::new(config(AddressScope::Internal, &[])).unwrap();
    for (host, is_private) in [
        ("198.18.0.1", true),
        ("198.19.255.254", true),
        ("192.0.0.8", false),
        ("192.0.2.1", false),
        ("192.88.99.1", false),
        ("198.51.100.1", false),
        ("203.0.113.1", false),
        ("[::ffff:198.18.0.1]", true),
        ("[64:ff9b::198.18.0.1]", true),
        ("[64:ff9b:1::1]", false),
        ("[100::1]", false),
        ("[2001::1]", false),
        ("[2001:2::1]", true),
        ("[2001:db8::1]", false),
        ("[2002:c612:1::]", true),
        ("[3fff::1]", false),
        ("[5f00::1]", false),
        ("[fec0::1]", true),
        ("[4000::1]", false),
    ] {
        for definition in [
            json!({"restful": {"url": format!("http://{host}/")}}),
            json!({"grpc": {"url": format!("{host}:80"), "service": "a.B", "method": "C"}}),
            json!({"mcp": {"url": format!("http://{host}/mcp"), "tool": "t"}}),
        ] {
            let definition = definition.to_string();
            assert!(try_build(&tools, &definition).is_err(), "{definition}");
            let accepted = try_build(&inside, &definition).is_ok();
            assert_eq!(accepted, is_private, "{definition}");
        }
    }
}

#[tokio::test]
async fn every_spelling_of_this_machine_is_refused_from_outside() {
    let server = HttpServer::start().await;
    let port = server.address.port();
    let tools = Tools::new(config(AddressScope::Public, &[])).unwrap();
    let hosts = [
        "127.0.0.1",
        "localhost",
        "LOCALHOST",
        "0.0.0.0",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[::]",
        "2130706433",
        "0x7f000001",
        "0177.0.0.1",
        "127.1",
        "[64:ff9b::7f00:1]",
        "[2002:7f00:1::]",
        "１２７.0.0.1",
    ];
    for host in hosts {
        for url in [
            format!("http://{host}:{port}/"),
            format!("http://user@{host}:{port}/"),
        ] {
            assert!(refused(&tools, &url).await, "{url}");
        }
    }
    assert_eq!(server.seen.connections.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn inside_only_what_no_tool_can_be_is_refused() {
    let server = HttpServer::start().await;
    let port = server.address.port();
    let tools = Tools::new(config(AddressScope::Internal, &[])).unwrap();
    for url in [
        "http://169.254.169.254/".to_owned(),
        "http://[fd00:ec2::254]/".to_owned(),
        "http://100.100.100.200/".to_owned(),
        "http://metadata.google.internal/".to_owned(),
        "http://[::ffff:169.254.169.254]/".to_owned(),
        format!("http://0.0.0.0:{port}/"),
        format!("http://[::]:{port}/"),
        format!("http://127.0.0.1:{port}/to?http://169.254.169.254/"),
        format!("http://127.0.0.1:{port}/to?file:///etc/passwd"),
        format!("http://127.0.0.1:{port}/to?http://127.0.0.1:{port}/to%3Fhttp://0.0.0.0:{port}/"),
    ] {
        assert!(refused(&tools, &url).await, "{url}");
    }
    assert!(!refused(&tools, &server.url("/e")).await);
}

/// DNS rebinding: each lookup returns another address. The connection uses the checked address,
/// without a second lookup.
#[tokio::test]
async fn rebinding_changes_nothing() {
    let server = HttpServer::start().await;
    let names = Scripted::new(&[("mock-rebind", &["192.31.196.1", "127.0.0.1"])]);
    let mut config = config(AddressScope::Public, &[]);
    config.timeout = std::time::Duration::from_secs(2);
    let tools = Tools::with_lookup(config, names.clone()).unwrap();
    let url = format!("http://mock-rebind:{}/", server.address.port());
    let tool = try_build(&tools, &json!({"type": "restful", "url": url}).to_string())
        .unwrap()
        .tool;
    let error = call(&*tool, "{}").await.unwrap_err();
    assert_ne!(
        error.kind,
        ToolErrorKind::Refused,
        "the first answer is public: {error}"
    );
    assert_eq!(names.looked_up.load(Ordering::SeqCst), 1);
    let error = call(&*tool, "{}").await.unwrap_err();
    assert_eq!(
        error.kind,
        ToolErrorKind::Refused,
        "the second is not: {error}"
    );
    assert!(error.message.contains("tools.addresses.allow"), "{error}");
    assert_eq!(server.seen.connections.load(Ordering::SeqCst), 0);
}

/// Names are resolved when a tool is called, in every protocol.
#[tokio::test]
async fn names_of_denied_addresses_are_refused_in_every_protocol() {
    let names = Scripted::new(&[("tools.example", &["169.254.169.254"])]);
    let tools = Tools::with_lookup(ToolsConfig::default(), names).unwrap();
    for definition in [
        json!({"type": "restful", "url": "http://tools.example/"}),
        json!({"type": "restful", "url": "https://tools.example/"}),
        json!({"grpc": {"url": "tools.example:1", "service": "s", "method": "m"}}),
        json!({"grpc": {"url": "https://tools.example:1", "service": "s", "method": "m"}}),
        json!({"mcp": {"url": "http://tools.example/mcp", "tool": "t"}}),
    ] {
        let tool = try_build(&tools, &definition.to_string()).unwrap().tool;
        let error = call(&*tool, "{}").await.unwrap_err();
        assert_eq!(error.kind, ToolErrorKind::Refused, "{definition}: {error}");
        assert!(
            error.message.contains("link-local"),
            "{definition}: {error}"
        );
        assert!(
            !error.for_model.contains("169.254"),
            "{definition}: {error:?}"
        );
    }
}
