//! Shared parts of built-in tools: argument validation and timeouts.

use std::sync::Arc;

use quillet_core::tool::{Idempotency, Tool, ToolContext, ToolError, ToolErrorKind, ToolSpec};
use quillet_core::{BoxFuture, Map, Value};
use serde_json::{Value as Json, json};

use crate::deadline::CallTimeout;
use crate::parameters::Parameters;

/// Handler that receives validated arguments.
pub(crate) trait BuiltinHandler: Send + Sync + std::fmt::Debug {
    fn run<'a>(&'a self, arguments: &'a Map) -> BoxFuture<'a, Result<Value, ToolError>>;
}

/// Name, description and argument schema of a built-in tool. Built once, because compiling a schema
/// costs more than creating the tool for a request.
#[derive(Debug)]
pub(crate) struct BuiltinSpec {
    spec: ToolSpec,
    parameters: Parameters,
}

impl BuiltinSpec {
    /// Creates a specification. `properties` are the parameters; those in `required` have no
    /// default.
    pub(crate) fn new(name: &str, description: &str, properties: &Json, required: &[&str]) -> Self {
        let schema = json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false});
        let parameters = Parameters::compile(&schema);
        BuiltinSpec {
            spec: ToolSpec {
                name: name.to_owned(),
                description: description.to_owned(),
                parameters: schema,
                // Built-in tools only read, so repeating a call is safe.
                repeat: Idempotency::Freely,
                ..ToolSpec::default()
            },
            parameters: parameters.expect("schemas of built-in tools are constants"),
        }
    }
}

/// Built-in tool: validates arguments and applies the timeout.
#[derive(Debug)]
struct BuiltinTool<W> {
    shape: &'static BuiltinSpec,
    limit: CallTimeout,
    work: W,
}

/// Creates a built-in tool with this handler.
pub(crate) fn tool(
    shape: &'static BuiltinSpec,
    limit: CallTimeout,
    work: impl BuiltinHandler + 'static,
) -> Arc<dyn Tool> {
    Arc::new(BuiltinTool { shape, limit, work })
}

impl<W: BuiltinHandler> Tool for BuiltinTool<W> {
    fn spec(&self) -> &ToolSpec {
        &self.shape.spec
    }

    fn call<'a>(
        &'a self,
        arguments: Map,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, Result<Value, ToolError>> {
        Box::pin(async move {
            let tool = self.shape.spec.name.as_str();
            let arguments = self.shape.parameters.prepare(tool, arguments)?;
            let left = self.limit.remaining(context);
            self.limit.run(tool, left, self.work.run(&arguments)).await
        })
    }
}

/// Error that the model reads as a JSON object, like results: `{"error": …}` with further members.
pub(crate) fn failure(kind: ToolErrorKind, message: String, for_model: &Json) -> ToolError {
    ToolError {
        kind,
        message,
        for_model: for_model.to_string(),
    }
}
