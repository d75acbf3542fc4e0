//! Requests from web pages by DNS rebinding and from other origins.

use quillet_server::{HttpServer, ServerConfig};

use crate::client::{Answer, Connection, parse};
use crate::test_server::{Setup, TestServer, start_with};

/// Returns the method and path of every operation in the OpenAPI document, and the undocumented
/// routes.
fn operations(server: &TestServer) -> Vec<(String, String)> {
    let paths = server.openapi["paths"].as_object().unwrap();
    let described = paths.iter().flat_map(|(path, item)| {
        let methods = item.as_object().unwrap().keys();
        let known = ["get", "post", "put", "delete"];
        methods
            .filter(move |method| known.contains(&method.as_str()))
            .map(|method| (method.to_uppercase(), path.replace(['{', '}'], "")))
    });
    let more = [
        ("GET", "/mcp"),
        ("DELETE", "/mcp"),
        ("GET", "/nowhere"),
        ("OPTIONS", "/api/render"),
    ];
    let more = more.map(|(method, path)| (method.to_owned(), path.to_owned()));
    described.chain(more).collect()
}

async fn send(server: &TestServer, start: &str, head: &[(&str, &str)]) -> Answer {
    let lines = head
        .iter()
        .map(|(name, value)| format!("{name}: {value}\r\n"));
    let lines: String = lines.collect();
    let mut connection = Connection::open(server.address).await;
    connection
        .send(&format!(
            "{start}\r\n{lines}connection: close\r\ncontent-length: 2\r\n\r\n{{}}"
        ))
        .await;
    parse(&connection.read_to_end().await)
}

fn outcome(answer: &Answer) -> (u16, String) {
    let body: serde_json::Value = serde_json::from_str(&answer.body).unwrap_or_default();
    // OpenAI's routes have another error format.
    let code = body["error"].as_str().or(body["error"]["code"].as_str());
    (answer.status, code.unwrap_or_default().to_owned())
}

#[tokio::test]
async fn a_rebound_page_gets_nothing_from_any_route() {
    let mut setup = Setup::default();
    // Use the most permissive configuration.
    setup.config.open_metrics = true;
    setup.config.inline_templates = Some(true);
    let server = start_with(setup).await;
    let routes = operations(&server);
    assert!(routes.len() > 60, "{routes:?}");
    for (method, path) in routes {
        // A browser sends Origin with all methods except GET and HEAD, and treats the rebound
        // server as the page's own origin.
        let page = [
            ("host", "evil.example:8080"),
            ("origin", "http://evil.example:8080"),
            ("sec-fetch-site", "same-origin"),
        ];
        let navigates = [("host", "evil.example"), ("sec-fetch-mode", "navigate")];
        let old_browser = [("host", "evil.example")];
        for head in [&page[..], &page[..1], &navigates, &old_browser] {
            let answer = send(&server, &format!("{method} {path} HTTP/1.1"), head).await;
            let expected = (403, "browser.host".to_owned());
            assert_eq!(
                outcome(&answer),
                expected,
                "{method} {path} {head:?}: {answer:?}"
            );
            assert!(answer.body.contains("server.hosts"), "{answer:?}");
            assert_eq!(answer.header("access-control-allow-origin"), None);
        }
        let start = format!("{method} http://evil.example{path} HTTP/1.1");
        let answer = send(&server, &start, &[("host", "localhost")]).await;
        assert_eq!(answer.status, 403, "{start}");
    }
}

#[tokio::test]
async fn a_page_of_another_origin_gets_nothing_from_any_route() {
    let server = start_with(Setup::default()).await;
    for (method, path) in operations(&server) {
        for origin in [
            "http://evil.example",
            "http://localhost:3000",
            "null",
            "localhost",
            "x\u{e4}",
        ] {
            let head = [("host", "localhost:8080"), ("origin", origin)];
            let answer = send(&server, &format!("{method} {path} HTTP/1.1"), &head).await;
            let expected = (403, "browser.origin".to_owned());
            assert_eq!(outcome(&answer), expected, "{method} {path} {origin}");
        }
        let own = [
            ("host", "localhost:8080"),
            ("origin", "http://localhost:8080"),
        ];
        let answer = send(&server, &format!("{method} {path} HTTP/1.1"), &own).await;
        assert_ne!(answer.status, 403, "{method} {path}: {answer:?}");
    }
}

#[tokio::test]
async fn listed_names_and_origins_are_answered() {
    let mut setup = Setup::default();
    setup.config.hosts = vec!["prompts.example".into(), "*.inner.example".into()];
    setup.config.origins = vec!["https://console.example".into(), "null".into()];
    let server = start_with(setup).await;
    // Each case has the headers and the expected status.
    let cases: [(&[(&str, &str)], u16); 14] = [
        (&[("host", "prompts.example")], 200),
        (&[("host", "a.inner.example:8443")], 200),
        (&[("host", "inner.example")], 403),
        (&[("host", "evil.example")], 403),
        (&[("host", "203.0.113.7")], 200),
        (&[("host", "[2001:db8::7]:8080")], 200),
        (&[], 400),
        (&[("host", "")], 400),
        (&[("host", "localhost"), ("host", "localhost")], 400),
        (
            &[
                ("host", "prompts.example"),
                ("origin", "https://console.example"),
            ],
            200,
        ),
        // A proxy in front of the server terminates TLS.
        (
            &[
                ("host", "prompts.example"),
                ("origin", "https://prompts.example"),
            ],
            200,
        ),
        (&[("host", "localhost"), ("origin", "null")], 200),
        (
            &[
                ("host", "localhost"),
                ("origin", "https://console.example.evil"),
            ],
            403,
        ),
        (
            &[
                ("host", "localhost"),
                ("origin", "https://console.example"),
                ("origin", "http://evil.example"),
            ],
            403,
        ),
    ];
    for path in ["/healthz", "/api/prompts", "/docs"] {
        for (head, status) in cases {
            let answer = send(&server, &format!("GET {path} HTTP/1.1"), head).await;
            assert_eq!(answer.status, status, "{path} {head:?}: {answer:?}");
        }
    }
    // Health probes of old load balancers send no Host header.
    let answer = send(&server, "GET /healthz HTTP/1.0", &[]).await;
    assert_eq!(answer.status, 200);
}

#[tokio::test]
async fn an_entry_that_is_no_name_is_told_at_start() {
    let server = start_with(Setup::default()).await;
    let config = ServerConfig {
        listen: ([127, 0, 0, 1], 0).into(),
        hosts: vec!["http://prompts.example".into()],
        ..ServerConfig::default()
    };
    let error = HttpServer::bind(config, server.service.clone())
        .await
        .unwrap_err();
    assert_eq!(error.code(), "server.host");
    assert!(
        error.to_string().contains("http://prompts.example"),
        "{error}"
    );
}
