//! Functions of the host program as tools for templates and scripts.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use quillet::core::BoxFuture;
use quillet::core::tool::{Tool, ToolContext, ToolError, ToolErrorKind, ToolSpec};
use quillet::script::host::{Network, Tools};
use quillet::{Map, Value};
use serde_json::{Value as Json, json};

use crate::call_queue::CallQueue;

/// Parameter that takes all arguments of a function with unknown parameters.
const REST: &str = "arguments";

/// Description of a function of the host program.
#[derive(Clone, Debug, Default)]
pub struct HostFunction {
    /// Name for templates, scripts and models.
    pub name: String,
    /// Description for models.
    pub description: String,
    /// JSON Schema of the arguments; its properties are in the order of positional arguments.
    /// Without a schema, the function receives the template's positional and named arguments.
    pub parameters: Option<Json>,
    /// Whether equal calls of one render may share a result.
    pub idempotent: bool,
    /// Fallback value of a failed call.
    pub default: Value,
}

/// The functions of one background task.
#[derive(Clone)]
pub(crate) struct HostFunctions {
    by_name: BTreeMap<String, Arc<dyn Tool>>,
    /// Network access of scripts that may connect.
    network: Option<Arc<dyn Network>>,
}

impl HostFunctions {
    pub(crate) fn new(described: Vec<HostFunction>, board: &CallQueue) -> Self {
        let tool = |described: HostFunction| {
            let name = described.name.clone();
            let function = FunctionTool::new(described, board.clone());
            (name, Arc::new(function) as Arc<dyn Tool>)
        };
        HostFunctions {
            by_name: described.into_iter().map(tool).collect(),
            network: None,
        }
    }

    pub(crate) fn with_network(self, network: Option<Arc<dyn Network>>) -> Self {
        HostFunctions { network, ..self }
    }

    pub(crate) fn into_tools(self) -> impl Iterator<Item = Arc<dyn Tool>> {
        self.by_name.into_values()
    }
}

impl fmt::Debug for HostFunctions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.by_name.keys()).finish()
    }
}

impl Tools for HostFunctions {
    fn tool(&self, name: &str) -> Option<Arc<dyn Tool>> {
        self.by_name.get(name).cloned()
    }

    fn names(&self) -> Vec<String> {
        self.by_name.keys().cloned().collect()
    }

    fn network(&self) -> Option<Arc<dyn Network>> {
        self.network.clone()
    }
}

/// One of the functions.
#[derive(Debug)]
struct FunctionTool {
    spec: ToolSpec,
    name: Arc<str>,
    board: CallQueue,
}

impl FunctionTool {
    fn new(described: HostFunction, board: CallQueue) -> Self {
        let HostFunction {
            name,
            description,
            parameters,
            idempotent,
            default,
        } = described;
        let rest = parameters.is_none().then(|| REST.to_owned());
        let any = || json!({"type": "object", "properties": {REST: {"type": "array"}}});
        FunctionTool {
            name: name.as_str().into(),
            spec: ToolSpec {
                name,
                description,
                parameters: parameters.unwrap_or_else(any),
                rest,
                idempotent,
                default,
                ..ToolSpec::default()
            },
            board,
        }
    }

    /// Positional and named arguments.
    fn arguments(&self, given: Map) -> (Vec<Value>, Map) {
        let rest = self.spec.rest.as_deref();
        match rest.and_then(|rest| given.get(rest)) {
            Some(Value::List(list)) if given.len() == 1 => (list.to_vec(), Map::default()),
            _ => (Vec::new(), given),
        }
    }
}

impl Tool for FunctionTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(
        &'a self,
        arguments: Map,
        _: &'a ToolContext,
    ) -> BoxFuture<'a, Result<Value, ToolError>> {
        let (positional, named) = self.arguments(arguments);
        Box::pin(async move {
            let tool = Some(Arc::clone(&self.name));
            let answer = self.board.call(tool, positional, named).await;
            answer.map_err(|message| ToolError::new(ToolErrorKind::Remote, message))
        })
    }
}
