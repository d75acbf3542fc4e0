//! HTTP requests of scripts: public addresses, and other addresses only if they are listed.

use std::sync::atomic::Ordering;
use std::time::Duration;

use quillet_core::tool::{ToolError, ToolErrorKind};
use quillet_core::web::{WebAnswer, WebRequest};
use quillet_tools::address::{AddressPolicy, AddressScope};
use quillet_tools::{Tools, ToolsConfig};
use serde_json::Value;

use crate::http_server::HttpServer;

fn lending(allow: &[&str]) -> Tools {
    let config = ToolsConfig {
        // The scope of tools does not apply to scripts.
        addresses: AddressPolicy {
            scope: AddressScope::Internal,
            allow: allow.iter().map(|rule| rule.parse().unwrap()).collect(),
        },
        timeout: Duration::from_secs(5),
        response_bytes: 1 << 20,
        ..ToolsConfig::default()
    };
    Tools::new(config).unwrap()
}

async fn get(tools: &Tools, url: &str) -> Result<WebAnswer, ToolError> {
    let request = WebRequest {
        url: url.to_owned(),
        ..WebRequest::default()
    };
    tools.fetch(request).await
}

fn json(answer: &WebAnswer) -> Value {
    serde_json::from_slice(&answer.body).unwrap()
}

#[tokio::test]
async fn only_what_is_public_or_listed_is_fetched() {
    let server = HttpServer::start().await;
    let closed = lending(&[]);
    let port = server.address.port();
    let hops = format!("http://127.0.0.1:{port}");
    for url in [
        format!("{hops}/text"),
        format!("http://localhost:{port}/text"),
        format!("http://[::1]:{port}/text"),
        format!("http://2130706433:{port}/text"),
        "http://10.0.0.1/".to_owned(),
        "http://169.254.169.254/latest/meta-data".to_owned(),
        "http://0.0.0.0/".to_owned(),
        "file:///etc/passwd".to_owned(),
        "http://user:secret@example.com/".to_owned(),
    ] {
        let error = get(&closed, &url).await.unwrap_err();
        assert_eq!(error.kind, ToolErrorKind::Refused, "{url}: {error}");
    }
    assert_eq!(server.seen.connections.load(Ordering::SeqCst), 0);
    let error = get(&closed, &format!("{hops}/")).await.unwrap_err();
    assert!(error.message.contains("tools.addresses.allow"), "{error}");

    let open = lending(&["127.0.0.1"]);
    let answer = get(&open, &format!("{hops}/text")).await.unwrap();
    assert_eq!((answer.status, &*answer.body), (200, &b"plain words"[..]));
    // The allow list contains the first hop. The target of the redirect is checked as well.
    for to in [
        "http://10.0.0.1/",
        "http://169.254.169.254/",
        "file:///etc/passwd",
    ] {
        let error = get(&open, &format!("{hops}/to?{to}")).await.unwrap_err();
        assert_eq!(error.kind, ToolErrorKind::Refused, "{to}: {error}");
    }
}

#[tokio::test]
async fn answers_are_bounded_in_size_hops_and_time() {
    let server = HttpServer::start().await;
    let tools = lending(&["127.0.0.1"]);
    let table = [
        ("/huge", ToolErrorKind::TooLarge, "tools.response_bytes"),
        ("/endless", ToolErrorKind::TooLarge, "tools.response_bytes"),
        ("/loop", ToolErrorKind::Refused, "tools.redirects"),
        ("/slow", ToolErrorKind::Timeout, "tools.timeout_ms"),
    ];
    for (path, kind, setting) in table {
        let error = get(&tools, &server.url(path)).await.unwrap_err();
        assert_eq!(error.kind, kind, "{path}: {error}");
        assert!(error.message.contains(setting), "{path}: {error}");
    }
    // An HTTP error status is an answer, not a failed call.
    let answer = get(&tools, &server.url("/error")).await.unwrap();
    assert_eq!(answer.status, 500);
}

#[tokio::test]
async fn requests_are_sent_as_they_were_written() {
    let server = HttpServer::start().await;
    let other = HttpServer::start().await;
    let tools = lending(&["127.0.0.1"]);
    let post = |url: String| WebRequest {
        method: "post".to_owned(),
        url,
        headers: vec![
            ("Content-Type".to_owned(), "application/x-thing".to_owned()),
            ("Authorization".to_owned(), "Bearer secret".to_owned()),
        ],
        body: Some(b"{\"a\":1}".to_vec()),
    };
    let answer = tools.fetch(post(server.url("/e"))).await.unwrap();
    let seen = json(&answer);
    assert_eq!(seen["method"], "POST");
    assert_eq!(seen["type"], "application/x-thing");
    assert_eq!(seen["authorization"], "Bearer secret");
    assert_eq!(seen["body"], serde_json::json!({"a": 1}));
    // Credentials are not sent to another origin.
    let away = post(server.url(&format!("/to?{}", other.url("/e"))));
    let answer = tools.fetch(away).await.unwrap();
    assert_eq!(json(&answer)["authorization"], Value::Null);
    assert_eq!(answer.url, other.url("/e"));
    let wrong = [
        ("CONNECT", "", ""),
        ("GET", "Host", "elsewhere"),
        ("GET", "Content-Length", "5"),
        ("GET", "a b", "x"),
        ("GET", "X-A", "a\r\nX-B: b"),
    ];
    for (method, name, value) in wrong {
        let request = WebRequest {
            method: method.to_owned(),
            url: server.url("/e"),
            headers: match name {
                "" => Vec::new(),
                name => vec![(name.to_owned(), value.to_owned())],
            },
            body: None,
        };
        let error = tools.fetch(request).await.unwrap_err();
        assert_eq!(error.kind, ToolErrorKind::Arguments, "{method} {name}");
    }
}
