//! Tools from definitions: validate arguments, apply the timeout, call, and convert the result.
//! [`ToolTransport`] has one variant per protocol.

use std::sync::Arc;
use std::time::Duration;

use quillet_core::tool::{Idempotency, Tool, ToolContext, ToolError, ToolSpec};
use quillet_core::{BoxFuture, Map, Value};

use crate::deadline::CallTimeout;
use crate::parameters::{self, CallArguments, Parameters};
use crate::restful::RestTool;
use crate::returns::Returns;
use crate::{grpc, mcp};

/// A tool from a definition.
#[derive(Debug)]
pub(crate) struct DefinedTool {
    pub(crate) spec: ToolSpec,
    pub(crate) parameters: Parameters,
    /// Whether the definition declares no parameters.
    pub(crate) undeclared: bool,
    pub(crate) returns: Returns,
    pub(crate) limit: CallTimeout,
    pub(crate) wire: ToolTransport,
}

/// The protocol.
#[derive(Debug)]
pub(crate) enum ToolTransport {
    Restful(Box<RestTool>),
    Grpc(grpc::GrpcMethod),
    Mcp {
        server: Arc<mcp::McpServer>,
        tool: String,
    },
}

impl Tool for DefinedTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(
        &'a self,
        arguments: Map,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, Result<Value, ToolError>> {
        Box::pin(async move {
            let tool = self.spec.name.as_str();
            let arguments = self.parameters.prepare(tool, arguments)?;
            let left = self.limit.remaining(context);
            // Only tools that declare `idempotent: "key"` receive the idempotency key.
            let keyless = ToolContext {
                call: Arc::default(),
                ..context.clone()
            };
            let context = if self.spec.repeat == Idempotency::WithKey {
                context
            } else {
                &keyless
            };
            let answer = self.answer(arguments, context, left);
            let answer = self.limit.run(tool, left, answer).await?;
            self.returns.result(tool, answer)
        })
    }
}

impl DefinedTool {
    async fn answer(
        &self,
        arguments: Map,
        context: &ToolContext,
        left: Duration,
    ) -> Result<Value, ToolError> {
        let tool = self.spec.name.as_str();
        let given = if self.undeclared {
            parameters::positional(tool, &arguments)?
        } else {
            None
        };
        let given = given.map_or(CallArguments::Named(&arguments), CallArguments::InOrder);
        match &self.wire {
            ToolTransport::Restful(restful) => {
                restful.call(tool, given, &self.returns, context).await
            }
            ToolTransport::Grpc(wire) => wire.call(tool, given, context, left).await,
            ToolTransport::Mcp {
                server,
                tool: theirs,
            } => mcp::call(server, tool, theirs, given, &self.returns).await,
        }
    }
}
