//! In-process tools for tests.

use std::sync::Arc;

use quillet_core::tool::{
    BuiltTool, Tool, ToolBuilder, ToolContext, ToolError, ToolErrorKind, ToolSpec,
};
use quillet_core::{BoxFuture, Diagnostic, Map, Value, json};

/// Builds tools that return their own name and arguments. A tool whose definition contains
/// `"fail": true` fails, and a tool with `"hang": true` never returns.
#[derive(Debug)]
pub struct EchoTools;

#[derive(Debug)]
struct EchoTool {
    spec: ToolSpec,
    fail: bool,
    hang: bool,
}

impl ToolBuilder for EchoTools {
    fn build(
        &self,
        name: &str,
        id: &str,
        source: &str,
        text: &str,
    ) -> Result<BuiltTool, Vec<Diagnostic>> {
        let tree: serde_json::Value = serde_json::from_str(text).map_err(|error| {
            vec![Diagnostic::error(
                "tool.definition",
                source,
                error.to_string(),
            )]
        })?;
        let says = |key: &str| tree[key].as_bool().unwrap_or(false);
        let spec = ToolSpec {
            name: name.to_owned(),
            also: vec![id.to_owned()],
            parameters: tree["parameters"].clone(),
            default: Value::from(tree["default"].clone()),
            idempotent: says("idempotent"),
            ..ToolSpec::default()
        };
        let tool = EchoTool {
            spec,
            fail: says("fail"),
            hang: says("hang"),
        };
        Ok(BuiltTool {
            tool: Arc::new(tool),
            warnings: Vec::new(),
        })
    }
}

impl Tool for EchoTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(
        &'a self,
        arguments: Map,
        _: &'a ToolContext,
    ) -> BoxFuture<'a, Result<Value, ToolError>> {
        Box::pin(async move {
            if self.hang {
                std::future::pending::<()>().await;
            }
            if self.fail {
                return Err(ToolError::new(
                    ToolErrorKind::Remote,
                    "the remote side is ill",
                ));
            }
            Ok(Value::from(format!(
                "{}{}",
                self.spec.name,
                json::to_string(&arguments.into())
            )))
        })
    }
}
