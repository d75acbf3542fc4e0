//! Helpers that build and call tools.

use std::sync::Arc;
use std::time::Duration;

use quillet_core::tool::{BuiltTool, Tool, ToolBuilder, ToolContext, ToolError};
use quillet_core::{Diagnostic, Map, Value, json};
use quillet_tools::{Tools, ToolsConfig};

/// An address without a listener. Port 1 is never assigned as a free port, unlike a port that was
/// free a moment ago.
pub(crate) const NOBODY: &str = "127.0.0.1:1";

pub(crate) fn tools() -> Tools {
    Tools::new(ToolsConfig::default()).unwrap()
}

pub(crate) fn try_build(tools: &Tools, definition: &str) -> Result<BuiltTool, Vec<Diagnostic>> {
    tools.build("t", "t", "tools:t", definition)
}

pub(crate) fn build(tools: &Tools, definition: &impl ToString) -> Arc<dyn Tool> {
    let definition = definition.to_string();
    match try_build(tools, &definition) {
        Ok(built) => built.tool,
        Err(findings) => panic!("{definition}: {findings:?}"),
    }
}

pub(crate) fn arguments(text: &str) -> Map {
    json::parse(text).unwrap().as_map().unwrap().clone()
}

pub(crate) async fn call(tool: &dyn Tool, given: &str) -> Result<Value, ToolError> {
    let context = ToolContext {
        request_id: "r-1".into(),
        ..ToolContext::default()
    };
    tool.call(arguments(given), &context).await
}

pub(crate) fn text(value: &Value) -> String {
    json::to_string(value)
}

/// Waits for an asynchronous effect, and panics if it does not occur.
pub(crate) async fn eventually(what: &str, happened: impl Fn() -> bool) {
    for _ in 0..1_000 {
        if happened() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{what} did not happen");
}
