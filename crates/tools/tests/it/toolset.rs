//! Tools of MCP servers, as agents use them, against third-party servers: one with the Python SDK
//! over every transport, and `@modelcontextprotocol/server-everything`.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use quillet_core::tool::{ToolContext, ToolErrorKind};
use quillet_core::{BoxFuture, Map};
use quillet_tools::{Lookup, McpOrigin, McpServers, Tools, ToolsConfig};
use serde_json::{Value as Json, json};

use crate::http_server::HttpServer;
use crate::mcp_programs::{
    Notes, connect, connected, installed, names, notes, python, texts, tool, until,
};
use crate::support::{NOBODY, call, eventually, text, tools};

fn stdio() -> Json {
    json!({"command": python(), "args": [notes(), "stdio"], "env": {"DEMO": "s3cret"}})
}

const NOTES: [&str; 10] = [
    "add",
    "process",
    "header",
    "environment",
    "fail",
    "picture",
    "large",
    "slow",
    "leave",
    "learn",
];

/// Lists the tools of a server, and calls them with success, errors, pictures and a timeout.
async fn works(server: &Json) {
    let tools = tools();
    let servers = json!({"mcpServers": {"notes": server}});
    let found = connected(&tools, &servers).await;
    assert_eq!(names(&found), NOTES);
    let add = tool(&found, "add");
    assert_eq!(add.spec().description, "Adds a note.");
    assert_eq!(add.spec().parameters["required"], json!(["title"]));
    let answer = call(add, r#"{"title": "日", "times": 2}"#).await.unwrap();
    assert_eq!(text(&answer), r#""added 日added 日""#);
    let cases = [
        (
            "fail",
            "{}",
            "MCP tool 'fail' failed: Error executing tool fail: the disk is full",
        ),
        ("add", "{}", "MCP tool 'add' failed: "),
        (
            "large",
            "{}",
            "MCP tool 'large' failed: the answer is larger than 1048576 bytes (tools.response_bytes)",
        ),
    ];
    for (name, arguments, told) in cases {
        let error = call(tool(&found, name), arguments).await.unwrap_err();
        assert!(error.for_model.starts_with(told), "{}", error.for_model);
    }
    let error = call(tool(&found, "add"), "{}").await.unwrap_err();
    assert!(error.for_model.contains("title"), "{}", error.for_model);
    let picture = call(tool(&found, "picture"), "{}").await.unwrap();
    assert_eq!(
        text(&picture),
        r#""see:\n[image image/png, 3000 bytes, not shown]""#
    );
    // `call_for_model` returns the picture next to the text.
    let context = ToolContext::default();
    let shown = tool(&found, "picture").call_for_model(Map::default(), &context);
    let shown = shown.await.unwrap();
    assert_eq!(text(&shown.value), r#""see:\n[image image/png]""#);
    let url = &shown.images[0].url;
    assert!(url.starts_with("data:image/png;base64,"), "{url}");
    // Two concurrent calls. The session stays usable after one of the calls times out.
    let context = ToolContext {
        deadline: Some(std::time::Instant::now() + Duration::from_millis(300)),
        ..ToolContext::default()
    };
    let (slow, quick) = tokio::join!(
        tool(&found, "slow").call(Map::default(), &context),
        call(add, r#"{"title": "x"}"#)
    );
    let error = slow.unwrap_err();
    assert_eq!(error.kind, ToolErrorKind::Timeout);
    let told = "MCP tool 'slow' timed out after 0.";
    assert!(error.for_model.starts_with(told), "{}", error.for_model);
    assert!(quick.is_ok());
    changes(&tools, &servers).await;
    dies(&tools, &servers).await;
}

/// After a `list_changed` notification, the tools are listed again in the same session.
async fn changes(tools: &Tools, servers: &Json) {
    let found = connected(tools, servers).await;
    let process = call(tool(&found, "process"), "{}").await.unwrap();
    call(tool(&found, "learn"), r#"{"name": "new.tool"}"#)
        .await
        .unwrap();
    let found = until(tools, servers, |found| names(found).len() > NOTES.len()).await;
    let again = call(tool(&found, "new_tool"), "{}").await.unwrap();
    assert_eq!(again, process);
}

/// If a server exits during a call, only that call fails.
async fn dies(tools: &Tools, servers: &Json) {
    let found = connected(tools, servers).await;
    let error = call(tool(&found, "leave"), "{}").await.unwrap_err();
    assert_eq!(error.kind, ToolErrorKind::Transport, "{error:?}");
    assert!(error.for_model.starts_with("MCP tool 'leave' failed: "));
}

#[tokio::test]
async fn the_python_sdk_over_stdio() {
    works(&stdio()).await;
    let tools = tools();
    let found = connected(&tools, &json!({"notes": stdio()})).await;
    let secret = call(tool(&found, "environment"), r#"{"name": "DEMO"}"#).await;
    assert!(text(&secret.unwrap()).contains("s3cret"));
    assert!(!format!("{found:?}").contains("s3cret"));
}

#[tokio::test]
async fn the_python_sdk_over_streamable_http() {
    let server = Notes::start("streamable-http").await;
    works(&json!({"url": server.url()})).await;
}

#[tokio::test]
async fn the_python_sdk_over_sse() {
    let server = Notes::start("sse").await;
    works(&json!({"type": "sse", "url": server.url()})).await;
}

/// A server restarts at the same address between list and call. One of the next calls starts a new
/// session.
#[tokio::test]
async fn servers_that_start_anew() {
    for (transport, kind) in [("streamable-http", "streamable-http"), ("sse", "sse")] {
        let server = Notes::start(transport).await;
        let tools = tools();
        let servers = json!({"notes": {"type": kind, "url": server.url()}});
        let found = connected(&tools, &servers).await;
        let process = call(tool(&found, "process"), "{}").await.unwrap();
        let _server = server.again().await;
        let mut answer = call(tool(&found, "process"), "{}").await;
        for _ in 0..100 {
            if answer.is_ok() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
            answer = call(tool(&found, "process"), "{}").await;
        }
        assert_ne!(answer.unwrap(), process, "{transport}");
    }
}

#[tokio::test]
async fn the_server_of_npm() {
    let script = installed("node_modules/@modelcontextprotocol/server-everything/dist/index.js");
    let tools = tools();
    let servers =
        json!({"everything": {"type": "stdio", "command": "node", "args": [script, "stdio"]}});
    let found = connected(&tools, &servers).await;
    let echo = call(tool(&found, "echo"), r#"{"message": "你好"}"#).await;
    assert_eq!(text(&echo.unwrap()), r#""Echo: 你好""#);
    let sum = call(tool(&found, "get-sum"), r#"{"a": 2, "b": 40}"#).await;
    assert!(text(&sum.unwrap()).contains("42"));
    let picture = call(tool(&found, "get-tiny-image"), "{}").await.unwrap();
    let picture = text(&picture);
    assert!(picture.contains("[image image/png, "), "{picture}");
    assert!(picture.len() < 1_000, "{picture}");
    let link = call(tool(&found, "get-resource-links"), r#"{"count": 2}"#).await;
    assert!(text(&link.unwrap()).contains("[resource "));
    let weather = call(
        tool(&found, "get-structured-content"),
        r#"{"location": "New York"}"#,
    )
    .await;
    assert!(text(&weather.unwrap()).contains("temperature"));
}

#[tokio::test]
async fn one_bad_server_does_not_hurt_the_others() {
    let hanging = HttpServer::start().await;
    let servers = json!({
        "dead": {"url": format!("http://{NOBODY}/mcp")},
        "hangs": {"url": hanging.url("/slow"), "timeout": 0.3},
        "hangs too": {"type": "sse", "url": hanging.url("/slow")},
        "other": {"type": "sse", "url": hanging.url("/text")},
        "metadata": {"url": "http://169.254.169.254/mcp"},
        "missing": {"command": "/no/such/program"},
        "leads away": {"type": "sse", "url": hanging.url("/to?http%3A%2F%2F169.254.169.254%2F")},
        "notes": stdio(),
    });
    let config = ToolsConfig {
        mcp_start: Duration::from_secs(5),
        ..ToolsConfig::default()
    };
    let found = connect(&Tools::new(config).unwrap(), &servers).await;
    assert_eq!(names(&found), NOTES);
    let findings = texts(&found.warnings);
    for said in [
        "\"dead\": http://127.0.0.1:1/mcp: client error",
        "\"hangs\": listing its tools: no answer within 300ms (timeout of the server, or tools.mcp_call_ms)",
        "\"hangs too\": MCP server http://",
        "\"other\": the server sent no endpoint event",
        "\"metadata\": url: tools may not connect to 169.254.169.254",
        "\"missing\": MCP server \"/no/such/program\" did not start",
        "\"leads away\": tools may not connect to 169.254.169.254",
    ] {
        assert!(findings.contains(said), "{said}:\n{findings}");
    }
    assert_eq!(found.warnings.len(), 7, "{findings}");
}

#[derive(Debug)]
struct Names;

impl Lookup for Names {
    fn lookup<'a>(&'a self, _: &'a str) -> BoxFuture<'a, std::io::Result<Vec<std::net::IpAddr>>> {
        Box::pin(async { Ok(vec![std::net::IpAddr::from([169, 254, 169, 254])]) })
    }
}

#[tokio::test]
async fn names_of_metadata_services_are_refused() {
    let tools = Tools::with_lookup(ToolsConfig::default(), Arc::new(Names)).unwrap();
    for kind in ["streamable-http", "sse"] {
        let found = connect(
            &tools,
            &json!({"x": {"type": kind, "url": "http://mcp.example/"}}),
        )
        .await;
        let findings = texts(&found.warnings);
        assert!(
            findings.contains("169.254.169.254 is a link-local"),
            "{findings}"
        );
    }
}

/// Servers with equal settings share a session; other credentials get another one. Idle sessions
/// end.
#[tokio::test]
async fn sessions_are_pooled() {
    let config = ToolsConfig {
        mcp_idle: Duration::from_millis(400),
        ..ToolsConfig::default()
    };
    let tools = Tools::new(config).unwrap();
    let process = async |server: Json| {
        let found = connected(&tools, &json!({"notes": server})).await;
        text(&call(tool(&found, "process"), "{}").await.unwrap())
    };
    let first = process(stdio()).await;
    assert_eq!(process(stdio()).await, first);
    let mut other = stdio();
    other["env"]["DEMO"] = json!("other");
    assert_ne!(process(other).await, first);
    let stat = format!("/proc/{}/stat", first.trim_matches('"'));
    let alive = || std::fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z "));
    eventually("the end of the idle program", || !alive()).await;
    assert_ne!(process(stdio()).await, first);
}

#[tokio::test]
async fn names_that_collide_get_the_name_of_their_server() {
    let tools = tools();
    let servers =
        json!({"one": stdio(), "two words": {"command": python(), "args": [notes(), "stdio"]}});
    let (servers, _) = McpServers::read(&servers, McpOrigin::Configuration);
    let found = tools.mcp_tools(&servers, &["add"]).await;
    let names = names(&found);
    assert_eq!(&names[..2], ["one_add", "process"]);
    assert_eq!(&names[10..12], ["two_words_add", "two_words_process"]);
    let variable = r#"{"name": "DEMO"}"#;
    let one = call(tool(&found, "environment"), variable).await.unwrap();
    let two = call(tool(&found, "two_words_environment"), variable).await;
    assert_eq!(text(&one), r#""s3cret""#);
    assert_eq!(text(&two.unwrap()), r#""none""#);
}

#[tokio::test]
async fn servers_of_a_request_get_their_headers_and_values() {
    let server = Notes::start("streamable-http").await;
    let list = json!([{"name": "notes", "url": format!("http://127.0.0.1:{}/${{{{ path.0 }}}}", server.port),
        "type": "streamable-http", "auth": {"X-User": "u-${{user.id}}"}}]);
    let (servers, findings) = McpServers::read(&list, McpOrigin::Request);
    assert!(findings.is_empty());
    let servers = servers.filled(&json!({"user": {"id": 7}, "path": ["mcp"]}));
    let found = tools().mcp_tools(&servers, &[]).await;
    let user = call(tool(&found, "header"), r#"{"name": "x-user"}"#).await;
    assert_eq!(text(&user.unwrap()), r#""u-7""#);
    assert!(!format!("{servers:?}{found:?}").contains("u-7"));
}

/// The operator's agents can refer to configured servers by name; requests cannot.
#[tokio::test]
async fn configured_servers_are_named() {
    let server = Notes::start("sse").await;
    let config = json!({"mcp_servers": {"notes": {"type": "sse", "url": server.url(), "headers": {"X-Key": "s3cret"}}}});
    let tools = Tools::new(serde_json::from_value(config).unwrap()).unwrap();
    let found = connect(&tools, &json!(["notes", "ntoes"])).await;
    assert_eq!(names(&found), NOTES);
    assert!(texts(&found.warnings).contains("did you mean \"notes\"?"));
    let key = call(tool(&found, "header"), r#"{"name": "x-key"}"#).await;
    assert_eq!(text(&key.unwrap()), r#""s3cret""#);
    let (servers, findings) = McpServers::read(&json!(["notes"]), McpOrigin::Request);
    assert!(servers.is_empty());
    assert!(texts(&findings).contains("cannot refer to configured servers"));
}

#[test]
fn what_is_wrong_with_a_list_is_told() {
    use McpOrigin::{Configuration, Request};
    let cases = [
        (
            json!({"a": {"command": "sh"}}),
            Request,
            "\"a\": a request cannot start programs",
        ),
        (
            json!([{"name": "a", "type": "stdio", "url": "x"}]),
            Request,
            "cannot start programs",
        ),
        (
            json!([{"name": "a", "type": "websocket"}]),
            Request,
            "unknown type \"websocket\" (expected one of streamable-http, sse, stdio)",
        ),
        (
            json!([{"name": "a", "type": 1}]),
            Request,
            "type: expected a string",
        ),
        (
            json!({"a": {"url": "http://x/", "haeders": {}}}),
            Configuration,
            "unknown key \"haeders\" is ignored (did you mean \"headers\"?)",
        ),
        (json!([3]), Request, "\"server_1\": expected an object"),
        (json!("x"), Request, "expected a list of servers"),
    ];
    for (list, origin, said) in cases {
        let (_, findings) = McpServers::read(&list, origin);
        assert!(texts(&findings).contains(said), "{list}: {findings:?}");
    }
}

#[tokio::test]
async fn what_is_wrong_with_a_server_is_told_without_its_secrets() {
    let cases = [
        (json!({}), "url is missing"),
        (json!({"url": 1}), "url: expected a string"),
        (json!({"url": "ftp://h/"}), "url: the scheme of"),
        (
            json!({"url": "http://h/", "headers": {"a": 1}}),
            "headers: expected an object of strings",
        ),
        (
            json!({"url": "http://h/", "headers": {"a b": "s3cret"}}),
            "headers: \"a b\" is not a header name",
        ),
        (
            json!({"url": "http://h/", "headers": {"a": "s3cret\n"}}),
            "headers: \"a\" has a value with control characters",
        ),
        (
            json!({"url": "http://h/", "timeout": -1}),
            "timeout: expected seconds",
        ),
        (
            json!({"command": "sh", "args": "x"}),
            "args: expected a list of strings",
        ),
        (
            json!({"url": format!("http://{NOBODY}/?key=s3cret")}),
            "refused",
        ),
        (
            json!({"type": "sse", "url": format!("http://{NOBODY}/?key=s3cret")}),
            "refused",
        ),
    ];
    let tools = tools();
    for (server, said) in cases {
        let found = connect(&tools, &json!({"a": server})).await;
        let findings = texts(&found.warnings);
        assert!(findings.contains(said), "{server}: {findings}");
        assert!(!findings.contains("s3cret"), "{findings}");
    }
}

/// Paged tool lists are read completely, or rejected if they exceed a limit.
#[tokio::test]
async fn lists_come_in_pages() {
    let seen = Arc::new(AtomicUsize::new(0));
    let cases = [
        (3, 2, None),
        (usize::MAX, 0, Some("more than 100 pages")),
        (usize::MAX, 50, Some("it has more than 1000")),
        (2, 900_000, Some("larger than 1048576 bytes")),
    ];
    for (pages, each, said) in cases {
        let url = crate::mcp_pages::serve(pages, each, seen.clone()).await;
        let found = connect(&tools(), &json!({"pages": {"url": url}})).await;
        match said {
            None => assert_eq!(
                names(&found),
                ["t0_0", "t0_1", "t1_0", "t1_1", "t2_0", "t2_1"]
            ),
            Some(said) => {
                let findings = texts(&found.warnings);
                assert!(findings.contains(said), "{findings}");
            }
        }
    }
    assert!(seen.load(Ordering::SeqCst) < 1_000);
}
