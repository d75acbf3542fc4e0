//! Tools made from functions.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use quillet_core::tool::{Tool, ToolContext, ToolError, ToolSpec};
use quillet_core::{BoxFuture, Map, Value};

/// Creates a tool from an asynchronous function, which receives the arguments by name.
///
/// `parameters` is a JSON Schema of type `object`, shown to models. Templates may pass arguments by
/// position; these are assigned to its properties in order.
///
/// ```
/// use quillet::Value;
/// use quillet::core::tool::Tool;
/// use serde_json::json;
///
/// let parameters = json!({"type": "object", "properties": {"city": {"type": "string"}}});
/// let weather = quillet::tool("weather", "The weather of a city.", parameters, async |given| {
///     let city = given.get("city").and_then(Value::as_str);
///     Ok(format!("18° in {}", city.unwrap_or("nowhere")).into())
/// });
/// assert_eq!(weather.spec().name, "weather");
/// ```
pub fn tool<F, R>(
    name: &str,
    description: &str,
    parameters: serde_json::Value,
    function: F,
) -> Arc<dyn Tool>
where
    F: Fn(Map) -> R + Send + Sync + 'static,
    R: Future<Output = Result<Value, ToolError>> + Send + 'static,
{
    let spec = ToolSpec {
        name: name.to_owned(),
        description: description.to_owned(),
        parameters,
        ..ToolSpec::default()
    };
    Arc::new(FunctionTool { spec, function })
}

struct FunctionTool<F> {
    spec: ToolSpec,
    function: F,
}

impl<F, R> Tool for FunctionTool<F>
where
    F: Fn(Map) -> R + Send + Sync,
    R: Future<Output = Result<Value, ToolError>> + Send + 'static,
{
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(
        &'a self,
        arguments: Map,
        _: &'a ToolContext,
    ) -> BoxFuture<'a, Result<Value, ToolError>> {
        Box::pin((self.function)(arguments))
    }
}

impl<F> fmt::Debug for FunctionTool<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FunctionTool")
            .field("spec", &self.spec)
            .finish_non_exhaustive()
    }
}
