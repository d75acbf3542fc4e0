//! MCP tools against real servers: a program over stdio and a streamable HTTP endpoint.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use quillet_core::tool::{Tool, ToolContext, ToolErrorKind};
use quillet_core::{Map, Value};
use quillet_tools::{McpServerConfig, Tools, ToolsConfig};
use rmcp::ErrorData;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ServerCapabilities,
    ServerConfig,
};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::json;

use crate::mcp_programs::{notes, python};
use crate::support::{NOBODY, build, call, eventually, text, tools, try_build};

/// Path of the example server; `cargo test` builds examples next to the tests.
fn program() -> String {
    let here = std::env::current_exe().unwrap();
    let target: PathBuf = here
        .parent()
        .and_then(|deps| deps.parent())
        .unwrap()
        .to_owned();
    let path = target
        .join("examples")
        .join(format!("mcp_server{}", std::env::consts::EXE_SUFFIX));
    assert!(
        path.exists(),
        "{} is missing: build it with cargo build -p quillet-tools --examples",
        path.display()
    );
    path.display().to_string()
}

fn configured(env: &[(&str, &str)]) -> Tools {
    let mut config = ToolsConfig::default();
    let server = McpServerConfig {
        command: Some(program()),
        env: env
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).into()))
            .collect(),
        ..McpServerConfig::default()
    };
    config.mcp_servers.insert("demo".to_owned(), server);
    Tools::new(config).unwrap()
}

fn demo(tools: &Tools, tool: &str) -> Arc<dyn Tool> {
    build(
        tools,
        &json!({"mcp": {"server": "demo", "tool": tool}, "parameters": {"type": "object"}}),
    )
}

#[tokio::test]
async fn results_follow_returns() {
    let tools = configured(&[("DEMO_SECRET", "s3cret")]);
    let object = json!({"type": "object"});
    let cases = [
        ("echo", json!(null), json!(null), Ok(r#""hi""#)),
        (
            "json",
            json!(null),
            json!(null),
            Ok(r#""{\"n\":1000000,\"given\":{\"text\":\"hi\"}}""#),
        ),
        (
            "json",
            object.clone(),
            json!(null),
            Ok(r#"{"n":1000000,"given":{"text":"hi"}}"#),
        ),
        ("json", json!(null), json!("n"), Ok("1000000")),
        (
            "structured",
            json!(null),
            json!(null),
            Ok(r#"{"translated":"hello","given":{"text":"hi"}}"#),
        ),
        (
            "echo",
            object,
            json!(null),
            Err((ToolErrorKind::Protocol, "not JSON")),
        ),
        ("environment", json!(null), json!(null), Ok(r#""s3cret""#)),
        (
            "fail",
            json!(null),
            json!(null),
            Err((ToolErrorKind::Remote, "the disk is full")),
        ),
        (
            "large",
            json!(null),
            json!(null),
            Err((ToolErrorKind::TooLarge, "tools.response_bytes")),
        ),
        (
            "nope",
            json!(null),
            json!(null),
            Err((ToolErrorKind::Remote, "there is no tool nope")),
        ),
    ];
    for (tool, returns, result, expected) in cases {
        let definition = json!({"mcp": {"server": "demo", "tool": tool}, "returns": returns, "result": result,
            "parameters": {"type": "object"}});
        let got = call(&*build(&tools, &definition), r#"{"text":"hi"}"#).await;
        match expected {
            Ok(expected) => assert_eq!(text(&got.unwrap()), expected, "{tool}"),
            Err((kind, said)) => {
                let error = got.unwrap_err();
                assert_eq!(error.kind, kind, "{tool}: {error}");
                assert!(error.message.contains(said), "{tool}: {error}");
            }
        }
    }
}

#[tokio::test]
async fn one_program_serves_all_calls_and_ends_with_its_tools() {
    let tools = configured(&[]);
    let (one, two) = (demo(&tools, "process"), demo(&tools, "process"));
    let process = call(&*one, "{}").await.unwrap();
    assert_eq!(call(&*two, "{}").await.unwrap(), process);
    // The server exits. The next call detects the exit and starts the server again.
    let exit = demo(&tools, "exit");
    let error = call(&*exit, "{}").await.unwrap_err();
    assert_eq!(error.kind, ToolErrorKind::Transport);
    assert!(
        error.message.contains("last output: demo server is up"),
        "{error}"
    );
    let again = call(&*one, "{}").await.unwrap();
    assert_ne!(again, process);
    let alive = |process: &Value| {
        let status = std::fs::read_to_string(format!("/proc/{}/stat", process.as_str().unwrap()));
        status.is_ok_and(|status| !status.contains(") Z "))
    };
    assert!(alive(&again));
    drop((one, two, exit, tools));
    eventually("the end of the program", || !alive(&again)).await;
}

/// A call that times out during startup does not stop the server from starting.
#[tokio::test]
async fn starting_outlives_the_call_that_caused_it() {
    let tools = configured(&[]);
    let tool = demo(&tools, "process");
    let context = ToolContext {
        deadline: Some(Instant::now() + Duration::from_millis(21)),
        ..ToolContext::default()
    };
    let error = tool.call(Map::default(), &context).await.unwrap_err();
    assert_eq!(error.kind, ToolErrorKind::Timeout);
    assert!(call(&*tool, "{}").await.is_ok());
}

#[tokio::test]
async fn a_cancelled_call_leaves_the_session_usable() {
    let tools = configured(&[]);
    let tool = demo(&tools, "process");
    let process = call(&*tool, "{}").await.unwrap();
    let definition = json!({"mcp": {"server": "demo", "tool": "slow"}, "timeout_ms": 100});
    let slow = build(&tools, &definition);
    let error = call(&*slow, "{}").await.unwrap_err();
    assert_eq!(error.kind, ToolErrorKind::Timeout);
    assert_eq!(call(&*tool, "{}").await.unwrap(), process);
}

#[tokio::test]
async fn programs_of_definitions_need_permission() {
    let definition =
        json!({"mcp": {"command": program(), "tool": "echo"}, "parameters": [{"name": "text"}]})
            .to_string();
    assert!(try_build(&tools(), &definition).is_err());
    let permitted = ToolsConfig {
        allow_stdio: true,
        ..ToolsConfig::default()
    };
    let permitted = Tools::new(permitted).unwrap();
    let result = call(&*build(&permitted, &definition), r#"{"text":"hi"}"#)
        .await
        .unwrap();
    assert_eq!(result, Value::from("hi"));
    let missing = build(
        &permitted,
        &json!({"mcp": {"command": "/no/such/program", "tool": "x"}}),
    );
    let error = call(&*missing, "{}").await.unwrap_err();
    assert_eq!(error.kind, ToolErrorKind::Transport);
    assert!(error.message.contains("installed"), "{error}");
}

/// A program that never answers `initialize` times out, and the error has its last output.
#[tokio::test]
async fn a_program_that_is_no_server() {
    let config = ToolsConfig {
        allow_stdio: true,
        mcp_start: Duration::from_millis(300),
        ..ToolsConfig::default()
    };
    let tools = Tools::new(config).unwrap();
    let definition = json!({"mcp": {"command": "sh", "args": ["-c", "echo wrong version >&2; exec sleep 60"], "tool": "x"}});
    let error = call(&*build(&tools, &definition), "{}").await.unwrap_err();
    assert_eq!(error.kind, ToolErrorKind::Timeout);
    assert!(error.message.contains("tools.mcp_start_ms"), "{error}");
    assert!(
        error.message.contains("last output: wrong version"),
        "{error}"
    );
}

/// Path of a file that does not exist yet.
fn fresh(name: &str) -> PathBuf {
    let file = std::env::temp_dir().join(format!("quillet-{name}-{}", std::process::id()));
    let _ = std::fs::remove_file(&file);
    file
}

/// Number of started programs: each appends a line to the file.
async fn starts(file: &std::path::Path) -> usize {
    let text = tokio::fs::read_to_string(file).await;
    text.map_or(0, |text| text.lines().count())
}

/// The first call of a program that never answers waits for `mcp_wait`. Later calls fail
/// immediately and do not start the program again.
#[tokio::test]
async fn a_silent_program_costs_one_wait() {
    let file = fresh("silent");
    let script = format!("echo started >> {}; exec sleep 60", file.display());
    let config = ToolsConfig {
        allow_stdio: true,
        mcp_wait: Some(Duration::from_millis(200)),
        mcp_start: Duration::from_millis(600),
        ..ToolsConfig::default()
    };
    let tools = Tools::new(config).unwrap();
    let definition = json!({"mcp": {"command": "sh", "args": ["-c", script], "tool": "x"}});
    let tool = build(&tools, &definition);
    let error = call(&*tool, "{}").await.unwrap_err();
    assert!(error.message.contains("tools.mcp_wait_ms"), "{error}");
    // The startup continues in the background, and its error is stored.
    let told = async || call(&*tool, "{}").await.unwrap_err().message;
    while !told().await.contains("tools.mcp_start_ms") {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    for _ in 0..200 {
        let message = told().await;
        assert!(message.contains("tools.mcp_start_ms"), "{message}");
    }
    // The program may have been started once more since the failure.
    assert!(starts(&file).await <= 2);
}

/// `prepare` connects to the servers of all definitions before the first call.
#[tokio::test]
async fn servers_are_greeted_ahead() {
    let program_of = |name: &str| {
        let file = fresh(name);
        let script = format!("echo started >> {}; exec {}", file.display(), program());
        (
            file,
            json!({"mcp": {"command": "sh", "args": ["-c", script], "tool": "process"}}),
        )
    };
    let config = ToolsConfig {
        allow_stdio: true,
        ..ToolsConfig::default()
    };
    let tools = Tools::new(config).unwrap();
    let (before, definition) = program_of("before");
    let known = build(&tools, &definition);
    assert_eq!(starts(&before).await, 0);
    quillet_core::tool::ToolBuilder::prepare(&tools);
    let (after, definition) = program_of("after");
    let late = build(&tools, &definition);
    while starts(&before).await + starts(&after).await < 2 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    for tool in [known, late] {
        assert!(call(&*tool, "{}").await.is_ok());
    }
    assert_eq!((starts(&before).await, starts(&after).await), (1, 1));
}

/// The Python SDK wraps scalars in an object, because structured content must be an object.
#[tokio::test]
async fn scalars_that_a_server_wraps_print_as_scalars() {
    let config = ToolsConfig {
        allow_stdio: true,
        ..ToolsConfig::default()
    };
    let tools = Tools::new(config).unwrap();
    let mcp = json!({"command": python(), "args": [notes(), "stdio"], "tool": "add"});
    let add = |more: serde_json::Value| {
        let mut definition = json!({"mcp": mcp});
        let fields = more.as_object().unwrap().clone();
        definition.as_object_mut().unwrap().extend(fields);
        build(&tools, &definition)
    };
    let added = Value::from("added 日");
    let given = r#"{"title": "日"}"#;
    // Without a declared return type the result stays an object, which displays as the wrapped
    // scalar.
    let answer = call(&*add(json!({})), given).await.unwrap();
    let map = answer.as_map().expect("it is an object still");
    assert_eq!(map.display_value(), Some(&added));
    assert_eq!(map.get("result"), Some(&added));
    for returns in [json!("string"), json!(["string", "null"])] {
        let declared = add(json!({"returns": {"type": returns}}));
        assert_eq!(call(&*declared, given).await.unwrap(), added);
    }
    // Positional arguments follow the order of the server's schema.
    let undeclared = add(json!({"parameters": null, "returns": {"type": "string"}}));
    let twice = r#"{"arguments": ["x", 2]}"#;
    let answer = call(&*undeclared, twice).await.unwrap();
    assert_eq!(answer, Value::from("added xadded x"));
    let error = call(&*undeclared, r#"{"arguments": [1,2,3,4,5,6,7]}"#)
        .await
        .unwrap_err();
    assert_eq!(error.kind, ToolErrorKind::Arguments);
}

/// A server with the first revision of the protocol, written without a library.
#[tokio::test]
async fn an_old_server() {
    const SERVER: &str = r#"
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case "$line" in
    *'"initialize"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2024-11-05","capabilities":{"tools":{}},"serverInfo":{"name":"old","version":"1"}}}\n' "$id" ;;
    *'"tools/call"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"from"},{"type":"text","text":"2024"}]}}\n' "$id" ;;
  esac
done"#;
    let mut config = ToolsConfig::default();
    let server = McpServerConfig {
        command: Some("sh".to_owned()),
        args: vec!["-c".to_owned(), SERVER.to_owned()],
        ..McpServerConfig::default()
    };
    config.mcp_servers.insert("demo".to_owned(), server);
    let tools = Tools::new(config).unwrap();
    let result = call(&*demo(&tools, "any"), "{}").await.unwrap();
    assert_eq!(result, Value::from("from\n2024"));
}

#[derive(Clone)]
struct OverHttp(Arc<AtomicUsize>);

impl ServerHandler for OverHttp {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        self.0.fetch_add(1, Ordering::SeqCst);
        let parts = context
            .extensions
            .get::<tonic::codegen::http::request::Parts>();
        let token = parts
            .and_then(|parts| parts.headers.get("authorization"))
            .and_then(|value| value.to_str().ok());
        let answer = json!({"tool": request.name, "token": token});
        Ok(CallToolResponse::Complete(CallToolResult::success(vec![
            ContentBlock::text(answer.to_string()),
        ])))
    }
}

type Service = StreamableHttpService<OverHttp, LocalSessionManager>;

fn service(calls: &Arc<AtomicUsize>) -> Service {
    let handler = OverHttp(calls.clone());
    StreamableHttpService::new(
        move || Ok(handler.clone()),
        Arc::new(LocalSessionManager::default()),
        StreamableHttpServerConfig::default(),
    )
}

/// Serves the current value of `current` for each request; returns the URL.
async fn serve(current: Arc<Mutex<Service>>) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let app = axum::Router::new().fallback(move |request: axum::extract::Request| {
        let service = current.lock().unwrap().clone();
        async move { service.handle(request).await }
    });
    tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
    url
}

#[tokio::test]
async fn streamable_http() {
    let calls = Arc::new(AtomicUsize::new(0));
    let current = Arc::new(Mutex::new(service(&calls)));
    let url = serve(current.clone()).await;
    let tools = tools();
    let definition = json!({"mcp": {"url": url, "tool": "look"}, "headers": {"Authorization": "Bearer t"},
        "returns": {"type": "object"}});
    let tool = build(&tools, &definition);
    for _ in 0..3 {
        let result = call(&*tool, "{}").await.unwrap();
        assert_eq!(text(&result), r#"{"tool":"look","token":"Bearer t"}"#);
    }
    assert_eq!(calls.load(Ordering::SeqCst), 3);
    // The new server does not know the client's session.
    *current.lock().unwrap() = service(&calls);
    assert!(call(&*tool, "{}").await.is_ok());
    assert_eq!(calls.load(Ordering::SeqCst), 4);
}

#[tokio::test]
async fn nobody_listens() {
    let url = format!("http://{NOBODY}/mcp");
    let tool = build(&tools(), &json!({"mcp": {"url": url, "tool": "x"}}));
    let error = call(&*tool, "{}").await.unwrap_err();
    assert_eq!(error.kind, ToolErrorKind::Transport);
    assert!(error.message.contains("refused"), "{error}");
}

#[tokio::test]
async fn addresses_are_checked() {
    for url in [
        "http://169.254.169.254/mcp",
        "file:///mcp",
        "http://u@127.0.0.1/mcp",
    ] {
        let definition = json!({"mcp": {"url": url, "tool": "x"}}).to_string();
        assert!(try_build(&tools(), &definition).is_err(), "{url}");
    }
}
