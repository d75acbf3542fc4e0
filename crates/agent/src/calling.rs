//! Execution of a single tool call, with its timeout and errors.

use std::any::Any;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use quillet_core::tool::{Tool, ToolContext, ToolError};
use quillet_core::{ErrorCode, Map, MediaUrl, ToolCall, Value, budget};
use serde_json::Value as Json;
use tokio::task::JoinError;
use tokio::time::{Instant, timeout};
use tokio_util::task::AbortOnDropHandle;

use crate::failure::CallFailure;
use crate::scope::RunContext;
use crate::spans::ToolSpan;

/// Call in progress.
pub(crate) struct StartedCall {
    /// Index in its turn.
    pub(crate) index: usize,
    /// The call.
    pub(crate) call: ToolCall,
    /// Its span.
    pub(crate) span: ToolSpan,
    at: Instant,
}

/// Finished call.
pub(crate) struct FinishedCall {
    /// The call.
    pub(crate) begun: StartedCall,
    /// Its result.
    pub(crate) answer: Result<Value, CallFailure>,
    /// Images of the result.
    pub(crate) images: Vec<MediaUrl>,
    /// Duration.
    pub(crate) took: Duration,
}

impl StartedCall {
    /// Starts a call.
    pub(crate) fn new(scope: &RunContext, index: usize, call: ToolCall) -> Self {
        StartedCall {
            index,
            span: ToolSpan::begin(scope, &call),
            call,
            at: Instant::now(),
        }
    }

    /// Finishes a call.
    pub(crate) fn done(self, answer: Result<Value, CallFailure>) -> FinishedCall {
        FinishedCall {
            took: self.at.elapsed(),
            begun: self,
            answer,
            images: Vec::new(),
        }
    }
}

/// Makes a call in a separate task, so that a tool that blocks its thread or panics does not stop
/// the run. Dropping the future aborts the task.
pub(crate) fn start(
    scope: &RunContext,
    tool: Arc<dyn Tool>,
    begun: StartedCall,
    input: serde_json::Map<String, Json>,
) -> impl Future<Output = FinishedCall> + Send + use<> {
    let limit = scope.limits.call_time;
    let context = ToolContext {
        // If the timeout is too large for the clock, there is no deadline.
        deadline: begun.at.into_std().checked_add(limit),
        request_id: scope.id.clone(),
        call: begun.call.id.as_str().into(),
    };
    let arguments = arguments(input);
    // Models that a tool calls are charged to the account of the run. A spawned task does not
    // inherit the account, so it is passed explicitly.
    let task = tokio::spawn(budget::charge_to_current(async move {
        tool.call_for_model(arguments, &context).await
    }));
    // A plain join handle would let the task continue after a timeout or a cancelled run.
    let answer = timeout(limit, AbortOnDropHandle::new(task));
    async move {
        let mut images = Vec::new();
        let answer = match answer.await {
            Ok(Ok(Ok(output))) => {
                images = output.images;
                Ok(output.value)
            }
            Ok(Ok(Err(error))) => Err(to_call_failure(&begun.call, error)),
            // The task panicked or was aborted, but the run continues.
            Ok(Err(error)) => Err(broke(&begun.call, error)),
            Err(_) => Err(CallFailure::time(limit)),
        };
        FinishedCall {
            images,
            ..begun.done(answer)
        }
    }
}

fn arguments(input: serde_json::Map<String, Json>) -> Map {
    match Value::from(Json::Object(input)) {
        Value::Map(map) => map,
        // An object always converts to a map, so this arm is unreachable.
        _ => Map::default(),
    }
}

fn to_call_failure(call: &ToolCall, error: ToolError) -> CallFailure {
    let code = error.kind.code();
    tracing::debug!(tool = call.name, %code, %error, "a tool failed");
    let text = error.for_model;
    CallFailure { code, text }
}

/// Converts a panic to an error. The panic message is only logged, because it may contain secrets
/// of the tool.
fn broke(call: &ToolCall, error: JoinError) -> CallFailure {
    let cause = match error.try_into_panic() {
        Ok(panic) => panic_text(&*panic).to_owned(),
        Err(error) => error.to_string(),
    };
    tracing::error!(tool = call.name, cause, "a tool panicked");
    CallFailure {
        code: ErrorCode::ToolPanic,
        text: "The tool broke down in the middle of the call; it may have done a part of it."
            .to_owned(),
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    match panic.downcast_ref::<&str>() {
        Some(text) => text,
        None => panic.downcast_ref::<String>().map_or("", String::as_str),
    }
}
