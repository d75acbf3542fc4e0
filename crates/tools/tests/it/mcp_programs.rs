//! MCP servers of third parties, started by the tests on free ports.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use quillet_core::Diagnostic;
use quillet_core::tool::Tool;
use quillet_tools::{McpOrigin, McpServers, McpTools, Tools};
use serde_json::Value as Json;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

/// Path of a file installed by `scripts/mcp-servers`.
pub(crate) fn installed(path: &str) -> String {
    let here = std::env::current_exe().unwrap();
    let target = here.ancestors().nth(3).unwrap();
    let path = target.join("mcp-servers").join(path);
    assert!(
        path.exists(),
        "{} is missing: run scripts/mcp-servers first",
        path.display()
    );
    path.display().to_string()
}

/// Path of the script of the notes server, which uses the Python SDK.
pub(crate) fn notes() -> String {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    here.join("tests/it/servers/notes.py").display().to_string()
}

pub(crate) fn python() -> String {
    installed("venv/bin/python")
}

/// The notes server over HTTP; stopped on drop.
pub(crate) struct Notes {
    pub(crate) port: u16,
    transport: &'static str,
    child: Child,
}

impl Notes {
    pub(crate) async fn start(transport: &'static str) -> Self {
        Notes::start_at(transport, 0).await
    }

    async fn start_at(transport: &'static str, port: u16) -> Self {
        let mut child = Command::new(python())
            .args([&notes(), transport, &port.to_string()])
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let port = lines.next_line().await.unwrap().unwrap();
        Notes {
            port: port.parse().unwrap(),
            transport,
            child,
        }
    }

    /// Restarts the server at the same address.
    pub(crate) async fn again(mut self) -> Self {
        self.child.kill().await.unwrap();
        Notes::start_at(self.transport, self.port).await
    }

    pub(crate) fn url(&self) -> String {
        let path = if self.transport == "sse" {
            "sse"
        } else {
            "mcp"
        };
        format!("http://127.0.0.1:{}/{path}", self.port)
    }
}

/// Connects to servers of a configuration.
pub(crate) async fn connect(tools: &Tools, servers: &Json) -> McpTools {
    let (servers, findings) = McpServers::read(servers, McpOrigin::Configuration);
    assert!(findings.is_empty(), "{findings:?}");
    tools.mcp_tools(&servers, &[]).await
}

/// Connects without warnings.
pub(crate) async fn connected(tools: &Tools, servers: &Json) -> McpTools {
    let found = connect(tools, servers).await;
    assert!(found.warnings.is_empty(), "{:?}", found.warnings);
    found
}

pub(crate) fn names(found: &McpTools) -> Vec<&str> {
    let names = found.tools.iter().map(|tool| tool.spec().name.as_str());
    names.collect()
}

pub(crate) fn tool<'a>(found: &'a McpTools, name: &str) -> &'a dyn Tool {
    let tool = found.tools.iter().find(|tool| tool.spec().name == name);
    &**tool.unwrap_or_else(|| panic!("no {name} in {:?}", names(found)))
}

pub(crate) fn texts(findings: &[Diagnostic]) -> String {
    let texts: Vec<String> = findings.iter().map(ToString::to_string).collect();
    texts.join("\n")
}

/// Connects repeatedly until the tools satisfy `good`.
pub(crate) async fn until(
    tools: &Tools,
    servers: &Json,
    good: impl Fn(&McpTools) -> bool,
) -> McpTools {
    for _ in 0..500 {
        let found = connect(tools, servers).await;
        if good(&found) {
            return found;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("the servers did not change");
}
