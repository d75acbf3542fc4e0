//! Tools as template functions. A failed call never fails the render: it is logged, listed in the
//! response, and replaced by the tool's fallback value.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use quillet_core::lock::lock;
use quillet_core::tool::{Tool, ToolContext, ToolError, ToolErrorKind};
use quillet_core::{BoxFuture, Value};
use quillet_template::{CallArguments, CallError, FunctionHost};

use crate::error::ToolFailure;
use crate::explain::{CallFacts, CallLog, millis};
use crate::input::RenderInput;
use crate::script::{ScriptTool, Scripts};
use crate::snapshot::CatalogueSnapshot;
use crate::usage::Usage;

/// The function that calls a tool by name, for tools whose names are reserved in the template
/// language.
pub(crate) const BY_NAME: &str = "tool";

/// The function that runs a stored script by its id: `{{script "char.dobby" "Hello"}}`. A tool with
/// this name takes precedence.
pub(crate) const SCRIPT: &str = "script";

/// Whether a name is a built-in function: `tool`, and `script` if there are scripts.
pub(crate) fn is_built_in(name: &str, snapshot: &CatalogueSnapshot) -> bool {
    name == BY_NAME || (name == SCRIPT && snapshot.has_scripts())
}

/// Time reserved for the template after its last tool call times out.
const MARGIN: Duration = Duration::from_millis(20);

/// The tools of one snapshot during one render.
pub(crate) struct ToolFunctions<'a> {
    usage: &'a Usage,
    scripts: &'a Scripts,
    snapshot: &'a Arc<CatalogueSnapshot>,
    deadline: Instant,
    request_id: &'a str,
    depth: usize,
    dry: bool,
    failures: Mutex<Vec<ToolFailure>>,
    /// Log of all calls, if the request asks for an explanation.
    log: Option<CallLog>,
    began: Instant,
}

impl<'a> ToolFunctions<'a> {
    pub(crate) fn new(
        usage: &'a Usage,
        scripts: &'a Scripts,
        snapshot: &'a Arc<CatalogueSnapshot>,
        deadline: Instant,
        input: &RenderInput<'a>,
    ) -> Self {
        ToolFunctions {
            usage,
            scripts,
            snapshot,
            deadline,
            request_id: input.request_id,
            depth: input.depth,
            dry: input.dry,
            failures: Mutex::default(),
            log: input.explain.then(CallLog::default),
            began: Instant::now(),
        }
    }

    /// Returns the failed calls, and all calls if the request asks for an explanation.
    pub(crate) fn into_calls(self) -> (Vec<ToolFailure>, Vec<CallFacts>) {
        let failures = self.failures.into_inner();
        let calls = self.log.map_or_else(Vec::new, CallLog::into_calls);
        (failures.unwrap_or_else(PoisonError::into_inner), calls)
    }

    /// Counts a call that has ended, and logs it if the request asks for an explanation.
    fn count(&self, tool: &str, started: Instant, error: Option<&ToolError>) {
        let time = started.elapsed();
        let failure = error.map(|error| error.kind);
        self.usage.called(tool, time, failure);
        if let Some(log) = &self.log {
            log.add(CallFacts {
                tool: tool.to_owned(),
                started_ms: millis(started.saturating_duration_since(self.began)),
                elapsed_ms: millis(time),
                outcome: failure.map_or("ok", |kind| kind.code().as_str()),
                failure: error.map(|error| error.for_model.clone()),
            });
        }
    }

    fn tool(&self, name: &str) -> Option<&'a Arc<dyn Tool>> {
        self.snapshot.functions.get(name)
    }

    fn script(&self, id: &str) -> Result<ScriptTool<'a>, CallError> {
        let made = ScriptTool::new(self.scripts, self.snapshot, id, self.depth, self.dry);
        made.map_err(CallError::new)
    }

    /// Runs a tool. In a dry run, returns its fallback value instead, so that templates can access
    /// its fields.
    async fn run_or_skip(&self, tool: &dyn Tool, arguments: CallArguments) -> Value {
        if self.dry {
            tool.spec().default.clone().into_fallback()
        } else {
            self.run(tool, arguments).await
        }
    }

    async fn run(&self, tool: &dyn Tool, arguments: CallArguments) -> Value {
        let started = Instant::now();
        let attempted = self.attempt(tool, arguments).await;
        self.count(&tool.spec().name, started, attempted.as_ref().err());
        let error = match attempted {
            Ok(value) => return value,
            Err(error) => error,
        };
        let elapsed_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        let spec = tool.spec();
        tracing::warn!(
            tool = %spec.name,
            code = %error.kind.code(),
            request_id = self.request_id,
            elapsed_ms,
            "tool call failed, using its fallback value: {error}"
        );
        lock(&self.failures).push(ToolFailure {
            tool: spec.name.clone(),
            code: error.kind.code(),
            message: error.for_model,
            elapsed_ms,
        });
        spec.default.clone().into_fallback()
    }

    async fn attempt(&self, tool: &dyn Tool, arguments: CallArguments) -> Result<Value, ToolError> {
        let arguments = tool.spec().bind(arguments.positional, &arguments.named)?;
        let context = ToolContext {
            deadline: Some(self.deadline),
            request_id: self.request_id.into(),
            call: Arc::default(),
        };
        // A call that times out returns its fallback value, and the template needs the remaining
        // time to print it.
        let most = context.remaining(Duration::MAX).saturating_sub(MARGIN);
        let late = |_| {
            let message = format!(
                "{} did not answer within the render timeout",
                tool.spec().name
            );
            ToolError::new(ToolErrorKind::Timeout, message)
        };
        tokio::time::timeout(most, tool.call(arguments, &context))
            .await
            .map_err(late)?
    }
}

impl FunctionHost for ToolFunctions<'_> {
    fn contains(&self, name: &str) -> bool {
        is_built_in(name, self.snapshot) || self.tool(name).is_some()
    }

    fn names(&self) -> Vec<&str> {
        self.snapshot.functions.keys().map(AsRef::as_ref).collect()
    }

    fn parameters(&self, name: &str) -> Option<Vec<String>> {
        let names = self.tool(name)?.spec().parameter_names();
        Some(names.map(str::to_owned).collect())
    }

    fn idempotent(&self, name: &str) -> bool {
        self.tool(name).is_some_and(|tool| tool.spec().idempotent)
    }

    fn call<'a>(
        &'a self,
        name: &'a str,
        mut arguments: CallArguments,
    ) -> BoxFuture<'a, Result<Value, CallError>> {
        Box::pin(async move {
            // Tools are looked up first, because they take precedence over the built-in function.
            if let Some(tool) = self.tool(name) {
                return Ok(self.run_or_skip(tool.as_ref(), arguments).await);
            }
            let Some(Value::Str(wanted)) = arguments.positional.first().cloned() else {
                return Err(CallError::new(format!(
                    "{name} needs the name of a {name} as its first argument"
                )));
            };
            arguments.positional.remove(0);
            if name == SCRIPT {
                let script = self.script(&wanted)?;
                // A script is not skipped in a dry run, because it has its own dry run.
                return Ok(self.run(&script, arguments).await);
            }
            match self.tool(&wanted) {
                Some(tool) => Ok(self.run_or_skip(tool.as_ref(), arguments).await),
                None => Err(CallError::new(match self.snapshot.broken_tool(&wanted) {
                    Some(broken) => broken.to_string(),
                    None => format!("unknown tool {wanted:?}"),
                })),
            }
        })
    }
}
