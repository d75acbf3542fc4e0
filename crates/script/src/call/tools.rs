//! Executes the tool calls for an answer.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use futures_util::future::join_all;
use quillet_agent::{AgentError, AgentEvent, AgentOutcome, EndReason, RunLimits, RunSpec, Window};
use quillet_core::chat::{ChatModel, ChatOptions, FinishReason};
use quillet_core::tool::{Tool, ToolAnswer, ToolContext, ToolError, ToolSpec};
use quillet_core::{BoxFuture, Map, Message, MessageContent, Role, Value};
use tokio::time::timeout;

use super::guard::{BoundedModel, RecordingModel};
use super::listen::StreamObserver;
use super::protocol::{self, ToolCallLine};
use super::stream_splitter::StreamSplitter;
use super::turn::TurnResult;
use super::{CallError, CallEvent, CallObserver, ModelCall, ToolUse};
use crate::ErrorKind;
use crate::run::call_sequence::{self, CallSequence};

/// Timeout of a tool call. It is long, because a tool can be a script that calls models itself.
const CALL_TIME: Duration = Duration::from_secs(600);
/// Timeout of all turns and calls for one answer.
const RUN_TIME: Duration = Duration::from_secs(3_600);

/// Executes calls in text form concurrently.
pub(super) async fn make(
    calls: Vec<ToolCallLine>,
    progress: &dyn CallObserver,
) -> Result<Vec<ToolUse>, CallError> {
    let made = calls.into_iter().enumerate();
    let made = made.map(|(at, call)| {
        call_sequence::within(call_sequence::child(), make_one(at, call, progress))
    });
    let made = join_all(made).await;
    made.into_iter().collect()
}

async fn make_one(
    at: usize,
    call: ToolCallLine,
    progress: &dyn CallObserver,
) -> Result<ToolUse, CallError> {
    let name = call.name.clone();
    let arguments = Value::Map(call.arguments.clone().unwrap_or_default());
    let event = CallEvent::ToolCall {
        name: &name,
        arguments: &arguments,
    };
    progress.event(event).await?;
    let result = if at < protocol::MOST_CALLS {
        result(call).await
    } else {
        Err(format!(
            "the call was not made: an answer may contain at most {} calls",
            protocol::MOST_CALLS
        ))
    };
    let event = CallEvent::ToolResult {
        name: &name,
        result: &result,
    };
    progress.event(event).await?;
    Ok(ToolUse {
        name,
        arguments,
        result,
    })
}

/// Returns the result of a call for the model.
async fn result(call: ToolCallLine) -> Result<Value, String> {
    let arguments = call.arguments?;
    let Some(tool) = call.tool else {
        return Err("there is no such tool".to_owned());
    };
    let context = ToolContext {
        deadline: Instant::now().checked_add(CALL_TIME),
        request_id: Arc::from(""),
        call: Arc::default(),
    };
    match timeout(CALL_TIME, tool.call(arguments, &context)).await {
        Ok(answer) => answer.map_err(|error| error.for_model),
        Err(_) => Err(format!("the call took longer than {CALL_TIME:?}")),
    }
}

/// Requests an answer from a model of a provider with tool support, and executes all its calls.
pub(super) async fn run(
    model: &BoundedModel,
    ask: &ModelCall,
    options: &ChatOptions,
    messages: Vec<Message>,
    telling: &mut StreamObserver<'_>,
    uses: &mut Vec<ToolUse>,
) -> Result<TurnResult, CallError> {
    let model = Arc::new(RecordingModel::new(model.clone()));
    let mut turn = ModelTurn::new(ask);
    let mut events = quillet_agent::run(task(model.clone(), ask, options, messages));
    while let Some(event) = events.next().await {
        for request in model.take() {
            telling.progress.event(CallEvent::Request(&request)).await?;
        }
        match event {
            AgentEvent::Ended(outcome) => return turn.end(*outcome, ask, telling).await,
            event => uses.extend(turn.forward_events(event, telling).await?),
        }
    }
    Err(CallError::new(
        ErrorKind::Model,
        "the run stopped without a result",
    ))
}

fn task(
    model: Arc<dyn ChatModel>,
    ask: &ModelCall,
    options: &ChatOptions,
    mut messages: Vec<Message>,
) -> RunSpec {
    let system = match messages.first() {
        Some(Message {
            role: Role::System,
            content: MessageContent::Text(text),
            ..
        }) => text.clone(),
        _ => String::new(),
    };
    if !system.is_empty() {
        messages.remove(0);
    }
    let window = ask.model.window.map(|context| Window {
        context,
        output: options.max_tokens.unwrap_or(4_096),
        known: true,
    });
    RunSpec {
        model_name: ask.model.name.clone(),
        system,
        tools: in_lanes(&ask.tools),
        options: options.clone(),
        counter: ask.model.counter.clone(),
        limits: RunLimits {
            tool_rounds: ask.settings.tool_rounds,
            call_time: CALL_TIME,
            run_time: RUN_TIME,
            compaction: window.is_some(),
            limit_notice: "No more tools can be called. Answer with what you have found out."
                .to_owned(),
            ..RunLimits::default()
        },
        window: window.unwrap_or_default(),
        ..RunSpec::new(model, messages)
    }
}

/// Gives each tool its own call sequence, because the agent loop runs calls in separate tasks.
fn in_lanes(tools: &[Arc<dyn Tool>]) -> Vec<Arc<dyn Tool>> {
    let Some(lane) = call_sequence::child() else {
        return tools.to_vec();
    };
    let inside = tools.iter().map(|tool| -> Arc<dyn Tool> {
        Arc::new(InLane {
            inner: tool.clone(),
            lane: lane.clone(),
        })
    });
    inside.collect()
}

/// A tool whose calls are recorded in a call sequence.
#[derive(Debug)]
struct InLane {
    inner: Arc<dyn Tool>,
    lane: Arc<CallSequence>,
}

impl InLane {
    fn lane(&self, context: &ToolContext) -> Option<Arc<CallSequence>> {
        call_sequence::named(&Some(self.lane.clone()), &context.call)
    }
}

impl Tool for InLane {
    fn spec(&self) -> &ToolSpec {
        self.inner.spec()
    }

    fn call<'a>(
        &'a self,
        arguments: Map,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, Result<Value, ToolError>> {
        let called = self.inner.call(arguments, context);
        Box::pin(call_sequence::within(self.lane(context), called))
    }

    fn call_for_model<'a>(
        &'a self,
        arguments: Map,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, Result<ToolAnswer, ToolError>> {
        let answered = self.inner.call_for_model(arguments, context);
        Box::pin(call_sequence::within(self.lane(context), answered))
    }
}

/// The current turn of the model and its output.
struct ModelTurn<'a> {
    ask: &'a ModelCall,
    ear: StreamSplitter,
    started: Vec<(String, Value)>,
}

impl<'a> ModelTurn<'a> {
    fn new(ask: &'a ModelCall) -> Self {
        ModelTurn {
            ask,
            ear: StreamSplitter::new(&ask.settings.thinking),
            started: Vec::new(),
        }
    }

    /// Forwards an event to the observer. Returns a call that has ended.
    async fn forward_events(
        &mut self,
        event: AgentEvent,
        telling: &mut StreamObserver<'_>,
    ) -> Result<Option<ToolUse>, CallError> {
        match event {
            AgentEvent::Text(piece) => telling.show(self.ear.text(&piece), "").await?,
            AgentEvent::Reasoning(piece) => telling.think(&piece).await?,
            AgentEvent::ToolStarted { id, name, input } => {
                telling.again("the model calls tools").await?;
                let arguments = Value::from(serde_json::Value::Object(input));
                let event = CallEvent::ToolCall {
                    name: &name,
                    arguments: &arguments,
                };
                telling.progress.event(event).await?;
                self.started.push((id, arguments));
            }
            AgentEvent::ToolDone {
                id,
                name,
                output,
                error,
                ..
            } => {
                let result = error.map_or(Ok(output), Err);
                let event = CallEvent::ToolResult {
                    name: &name,
                    result: &result,
                };
                telling.progress.event(event).await?;
                return Ok(Some(self.done(&id, name, result)));
            }
            _ => {}
        }
        Ok(None)
    }

    /// Converts an ended call and discards the text before it, because the answer follows the last
    /// call.
    fn done(&mut self, id: &str, name: String, result: Result<Value, String>) -> ToolUse {
        self.ear = StreamSplitter::new(&self.ask.settings.thinking);
        let at = self.started.iter().position(|(started, _)| started == id);
        let arguments = at.map(|at| self.started.swap_remove(at).1);
        ToolUse {
            name,
            arguments: arguments.unwrap_or_default(),
            result,
        }
    }

    async fn end(
        self,
        outcome: AgentOutcome,
        ask: &ModelCall,
        telling: &mut StreamObserver<'_>,
    ) -> Result<TurnResult, CallError> {
        let finish = match outcome.ending {
            // The model was notified that it may make no more calls, but it made more.
            EndReason::Finished(FinishReason::ToolCalls) => {
                return Err(too_many_rounds(ask).partial(&outcome.text));
            }
            EndReason::Finished(reason) => reason,
            // If the model repeats its calls, its last text is the answer.
            EndReason::Repeated { .. } if has_answer(&outcome.messages) => FinishReason::Stop,
            EndReason::Repeated { times } => {
                let message = format!(
                    "the model repeated the same calls {times} times with the same results and \
                    gave no answer"
                );
                return Err(CallError::new(ErrorKind::Limit, message));
            }
            EndReason::Failed(error) => return Err(failed(error).partial(&outcome.text)),
            EndReason::CallsRequired
            | EndReason::ApprovalRequired
            | EndReason::Silent { .. }
            | EndReason::Cancelled => {
                return Err(CallError::new(ErrorKind::Aborted, "the run was cancelled"));
            }
        };
        let (shown, split) = self.ear.finish();
        telling.show(shown, "").await?;
        let mut said = TurnResult {
            raw: last_text(&outcome.messages),
            thinking: outcome.reasoning,
            finish,
            model: ask.model.name.clone().unwrap_or_default(),
            usage: outcome.usage.unwrap_or_default(),
            ..TurnResult::default()
        };
        said.settle(split);
        Ok(said)
    }
}

/// Returns the error for a model that continues to call tools.
pub(super) fn too_many_rounds(ask: &ModelCall) -> CallError {
    let rounds = ask.settings.tool_rounds;
    let message = format!(
        "the model used all {rounds} tool rounds and called tools again instead of answering; \
        raise parameters.maxToolRounds, or say in the prompt when to stop"
    );
    CallError::new(ErrorKind::Limit, message)
}

/// Returns whether the last message is text of the model, not a call or its result.
fn has_answer(messages: &[Message]) -> bool {
    let last = messages.last();
    last.is_some_and(|last| {
        last.role == Role::Assistant && last.tool_calls.is_empty() && last.content != ""
    })
}

fn last_text(messages: &[Message]) -> String {
    match messages.last().map(|message| &message.content) {
        Some(MessageContent::Text(text)) => text.clone(),
        _ => String::new(),
    }
}

fn failed(error: AgentError) -> CallError {
    match error {
        AgentError::Model(error) => CallError::from(error),
        AgentError::Window { .. } | AgentError::Time(_) => {
            CallError::new(ErrorKind::Limit, error.to_string())
        }
        AgentError::Setup { .. } => CallError::new(ErrorKind::Model, error.to_string()),
    }
}
