//! A scripted model that records its requests, and tools with scripted results.

use std::collections::VecDeque;
use std::fmt;
use std::future::pending;
use std::sync::{Arc, Mutex};

use futures_util::{StreamExt, stream};
use quillet_agent::{AgentEvent, AgentOutcome, RunSpec, run};
use quillet_core::chat::{
    ChatEvent, ChatModel, ChatRequest, ChatStream, FinishReason, ModelError, ModelErrorKind, Usage,
};
use quillet_core::tool::{Tool, ToolContext, ToolError, ToolSpec};
use quillet_core::{BoxFuture, Map, Message, Role, Value};
use serde_json::json;

/// Scripted response of the model to one request.
pub(crate) enum Answer {
    /// Returns an error instead of a stream.
    Refuse(ModelError),
    /// Streams these items.
    Stream(Vec<Result<ChatEvent, ModelError>>),
    /// Streams these events, then stays pending forever.
    Hang(Vec<ChatEvent>),
    /// Streams events without an end.
    Endless(Box<dyn Iterator<Item = Result<ChatEvent, ModelError>> + Send>),
    /// Never returns a stream.
    Silence,
}

/// A model whose answers come from a script.
#[derive(Default)]
pub(crate) struct Scripted {
    answers: Mutex<VecDeque<Answer>>,
    asked: Mutex<Vec<ChatRequest>>,
    alive: Arc<()>,
}

impl fmt::Debug for Scripted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Scripted")
    }
}

impl Scripted {
    pub(crate) fn new(answers: Vec<Answer>) -> Arc<Self> {
        Arc::new(Scripted {
            answers: Mutex::new(answers.into()),
            ..Scripted::default()
        })
    }

    /// Recorded requests, oldest first.
    pub(crate) fn asked(&self) -> Vec<ChatRequest> {
        self.asked.lock().expect("nobody panicked").clone()
    }

    /// Number of answers that are still being streamed.
    pub(crate) fn open_streams(&self) -> usize {
        Arc::strong_count(&self.alive) - 1
    }
}

impl ChatModel for Scripted {
    fn describe(&self) -> String {
        "scripted".to_owned()
    }

    fn stream(&self, request: ChatRequest) -> BoxFuture<'_, Result<ChatStream, ModelError>> {
        self.asked.lock().expect("nobody panicked").push(request);
        let answer = self.answers.lock().expect("nobody panicked").pop_front();
        let alive = self.alive.clone();
        Box::pin(async move {
            let events = match answer.expect("the script has an answer") {
                Answer::Refuse(error) => return Err(error),
                Answer::Silence => {
                    let _alive = alive;
                    return pending().await;
                }
                Answer::Stream(events) => stream::iter(events).boxed(),
                Answer::Endless(events) => stream::iter(events).boxed(),
                Answer::Hang(events) => stream::iter(events.into_iter().map(Ok))
                    .chain(stream::pending())
                    .boxed(),
            };
            let held = events.map(move |event| {
                let _alive = &alive;
                event
            });
            Ok(held.boxed() as ChatStream)
        })
    }
}

pub(crate) fn text(text: &str) -> ChatEvent {
    ChatEvent::Text {
        choice: 0,
        text: text.to_owned(),
    }
}

pub(crate) fn thought(text: &str) -> ChatEvent {
    ChatEvent::Reasoning {
        choice: 0,
        text: text.to_owned(),
    }
}

pub(crate) fn call(index: u32, id: &str, name: &str, arguments: &str) -> ChatEvent {
    ChatEvent::ToolCall {
        choice: 0,
        index,
        id: Some(id.to_owned()),
        name: Some(name.to_owned()),
        arguments: arguments.to_owned(),
    }
}

pub(crate) fn finish(reason: FinishReason) -> ChatEvent {
    ChatEvent::Finish {
        choice: 0,
        reason,
        raw: reason.to_string(),
    }
}

pub(crate) fn usage(input_tokens: u64, output_tokens: u64) -> ChatEvent {
    ChatEvent::Usage(Usage {
        input_tokens,
        output_tokens,
        reasoning_tokens: 1,
        cache_read_tokens: 2,
        cache_write_tokens: 3,
    })
}

/// An answer with these events and no error.
pub(crate) fn says(events: Vec<ChatEvent>) -> Answer {
    Answer::Stream(events.into_iter().map(Ok).collect())
}

/// A text answer that ends the run.
pub(crate) fn last_words(words: &str) -> Answer {
    says(vec![text(words), finish(FinishReason::Stop)])
}

/// A turn with these calls, each given as id, name and arguments.
pub(crate) fn calls(calls: &[(&str, &str, &str)]) -> Answer {
    let numbered = (0..).zip(calls);
    let mut events: Vec<ChatEvent> = numbered
        .map(|(index, (id, name, arguments))| call(index, id, name, arguments))
        .collect();
    events.push(finish(FinishReason::ToolCalls));
    says(events)
}

pub(crate) fn model_error(kind: ModelErrorKind) -> ModelError {
    ModelError::new(kind, format!("{} went wrong", kind.code()))
}

type Body = dyn Fn(Map) -> BoxFuture<'static, Result<Value, ToolError>> + Send + Sync;

/// A tool with a scripted body.
pub(crate) struct TestTool {
    spec: ToolSpec,
    body: Box<Body>,
}

impl fmt::Debug for TestTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.spec.name)
    }
}

impl Tool for TestTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(
        &'a self,
        arguments: Map,
        _: &'a ToolContext,
    ) -> BoxFuture<'a, Result<Value, ToolError>> {
        (self.body)(arguments)
    }
}

/// A tool with one required string parameter, `q`.
pub(crate) fn tool<F>(name: &str, body: impl Fn(Map) -> F + Send + Sync + 'static) -> Arc<dyn Tool>
where
    F: Future<Output = Result<Value, ToolError>> + Send + 'static,
{
    let parameters = json!({
        "type": "object",
        "properties": {"q": {"type": "string"}, "n": {"type": "integer", "minimum": 1}},
        "required": ["q"],
        "additionalProperties": false,
    });
    tool_with(name, parameters, body)
}

/// A tool with these parameters.
pub(crate) fn tool_with<F>(
    name: &str,
    parameters: serde_json::Value,
    body: impl Fn(Map) -> F + Send + Sync + 'static,
) -> Arc<dyn Tool>
where
    F: Future<Output = Result<Value, ToolError>> + Send + 'static,
{
    Arc::new(TestTool {
        spec: ToolSpec {
            name: name.to_owned(),
            description: format!("does {name}"),
            parameters,
            ..ToolSpec::default()
        },
        body: Box::new(move |arguments| Box::pin(body(arguments))),
    })
}

/// A tool that returns its argument `q` in brackets.
pub(crate) fn echo(name: &str) -> Arc<dyn Tool> {
    tool(name, |arguments| async move {
        let q = arguments.get("q").and_then(Value::as_str).unwrap_or("");
        Ok(Value::from(format!("[{q}]")))
    })
}

/// A run of this model with these tools and the question "hi".
pub(crate) fn asked(model: &Arc<Scripted>, tools: Vec<Arc<dyn Tool>>) -> RunSpec {
    RunSpec {
        model_name: Some("m".to_owned()),
        system: "Be brief.".to_owned(),
        tools,
        ..RunSpec::new(model.clone(), vec![Message::new(Role::User, "hi")])
    }
}

/// Completes a run. Returns its events without the last one, and its outcome.
pub(crate) async fn finished(asked: RunSpec) -> (Vec<AgentEvent>, AgentOutcome) {
    let mut events: Vec<AgentEvent> = run(asked).collect().await;
    let ended = |event: &&AgentEvent| matches!(event, AgentEvent::Ended(_));
    assert_eq!(events.iter().filter(ended).count(), 1, "{events:?}");
    match events.pop() {
        Some(AgentEvent::Ended(outcome)) => (events, *outcome),
        other => panic!("the last event is {other:?}"),
    }
}

/// Events in short form: `text hi`, `start a search`, `done a ok`.
pub(crate) fn brief(events: &[AgentEvent]) -> Vec<String> {
    events.iter().map(in_brief).collect()
}

fn in_brief(event: &AgentEvent) -> String {
    match event {
        AgentEvent::Text(text) => format!("text {text}"),
        AgentEvent::Reasoning(text) => format!("thought {text}"),
        AgentEvent::ToolStarted { id, name, .. } => format!("start {id} {name}"),
        AgentEvent::ToolDone { id, error, .. } => match error {
            None => format!("done {id}"),
            Some(_) => format!("failed {id}"),
        },
        AgentEvent::CallRequired { id, name, .. } => format!("required {id} {name}"),
        AgentEvent::ApprovalRequired { id, name, why, .. } => format!("approval {id} {name} {why}"),
        AgentEvent::Resumed { text } => format!("resumed {text}"),
        AgentEvent::ToolLimitReached { rounds } => format!("limit {rounds}"),
        AgentEvent::SkillLoaded { name } => format!("skill {name}"),
        AgentEvent::Compacted(_) => "compacted".to_owned(),
        AgentEvent::Ended(_) => "ended".to_owned(),
    }
}

/// Messages in short form: `assistant hi calls a,b`, `tool a [x]`, `tool a !why`.
pub(crate) fn history(messages: &[Message]) -> Vec<String> {
    let short = |message: &Message| {
        let mut out = message.role.as_str().to_owned();
        if let Some(id) = &message.tool_call_id {
            out += &format!(" {id}");
        }
        let mark = if message.is_error { "!" } else { "" };
        out += &format!(" {mark}{}", message.content);
        if !message.tool_calls.is_empty() {
            let ids: Vec<&str> = message.tool_calls.iter().map(|c| c.id.as_str()).collect();
            out += &format!("calls {}", ids.join(","));
        }
        out
    };
    messages.iter().map(short).collect()
}
