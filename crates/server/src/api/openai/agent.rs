//! Agents as models: a run as the events of a model. What its tools do stays inside; calls of tools
//! that the client offered come out as calls.

use std::collections::VecDeque;
use std::sync::Arc;

use futures_util::stream::unfold;
use quillet_agent::{AgentError, AgentEvent, Ending, Outcome};
use quillet_core::ErrorCode;
use quillet_core::chat::{
    ChatEvent, ChatRequest, ChatStream, FinishReason, ModelError, ModelErrorKind,
};
use quillet_host::agent::{
    AgentRequest, AgentService, Deciding, Input, ModelSettings, Refused, Running, ToolSettings, Who,
};
use serde_json::{Map, Value};

use super::{again, approval, models};
use crate::api::feed::{Answer, Asking};
use crate::api::response::may_ask;
use crate::error::{ApiError, problem};
use crate::exchange::Call;

/// Asks the agent that the name of the model stands for.
pub(super) async fn ask(
    call: &Call,
    name: Option<String>,
    request: ChatRequest,
) -> Result<Asking, ApiError> {
    let name = name.unwrap_or_default();
    let Some(agents) = call.app.agents.clone() else {
        return Err(models::unknown(&name, None));
    };
    if request.options.n.is_some_and(|n| n > 1) {
        let message = "n: an agent gives one answer to a request";
        return Err(problem(ErrorCode::InvalidValue, message).about("n"));
    }
    let (who, id) = (call.who(), call.exchange.name(None));
    let decisions = approval::decisions(&request.messages);
    if !decisions.is_empty() {
        return go_on(agents, who, decisions);
    }
    let request = of_agents(name, request);
    may_ask(call, &agents, &request).await?;
    Ok(begin(agents, request, (who, id), call.exchange.is_row()))
}

/// Begins a run, whose events are those of a model. Of a row of a batch it goes on with the run that
/// the row has, if it has one.
pub(crate) fn begin(
    agents: Arc<AgentService>,
    request: AgentRequest,
    (who, id): (Who, String),
    is_row: bool,
) -> Asking {
    Box::pin(async move {
        if is_row && let Some(stream) = again::before(&agents, &who, &id).await? {
            return Ok(Answer {
                stream,
                warnings: Vec::new(),
            });
        }
        let running = agents
            .begin(request, &who, &id)
            .await
            .map_err(|error| refused(&error))?;
        let stream = begun(running, false).await?;
        Ok(Answer {
            stream,
            warnings: Vec::new(),
        })
    })
}

/// Writes the decisions down and goes on with the run.
pub(super) fn go_on(
    agents: Arc<AgentService>,
    who: Who,
    decisions: Vec<approval::Answered>,
) -> Result<Asking, ApiError> {
    let response = decisions.first().map(|answered| answered.response.clone());
    let response = response.unwrap_or_default();
    if decisions.iter().any(|other| other.response != response) {
        let message = "messages: the last results are of calls of more than one answer";
        return Err(problem(ErrorCode::InvalidValue, message).about("messages"));
    }
    Ok(Box::pin(async move {
        for answered in decisions {
            let deciding = Deciding {
                call: Some(answered.call),
                decision: answered.decision,
                by: who.scope().to_owned(),
            };
            agents.note(&who, &response, deciding).await?;
        }
        let running = agents.take_up(&who.run_id(&response)).await;
        let running = running.map_err(quillet_prompt::ServiceError::Store)?;
        let Some(running) = running else {
            let message = format!(
                "the run of {response} waits for more decisions, or goes on elsewhere: see GET /v1/runs/{response}"
            );
            return Err(problem(ErrorCode::DurableNotWaiting, message));
        };
        Ok(Answer {
            stream: begun(running, false).await?,
            warnings: Vec::new(),
        })
    }))
}

/// The whole conversation comes with the request, so no session is loaded or stored.
fn of_agents(name: String, request: ChatRequest) -> AgentRequest {
    let mut options = request.options;
    let mut asked = AgentRequest {
        model: Some(ModelSettings {
            model_id: name,
            ..ModelSettings::default()
        }),
        temperature: options.temperature.take(),
        max_tokens: options.max_tokens.take(),
        input: Input::Messages(request.messages),
        tools: ToolSettings {
            custom: std::mem::take(&mut options.tools),
            ..ToolSettings::default()
        },
        tool_choice: options.tool_choice.take(),
        ..AgentRequest::default()
    };
    asked.options = options;
    asked
}

/// The beginning of an answer.
pub(super) fn start(model: &str) -> ChatEvent {
    ChatEvent::Start {
        id: format!("chatcmpl-{}", uuid::Uuid::new_v4().simple()),
        model: model.to_owned(),
        created: 0,
    }
}

/// Waits until the run does something, so that what stops it from beginning still has
/// a status of its own. `whole` has the answer of a run that is gone on with begin with what was
/// said before.
pub(super) async fn begun(mut running: Running, whole: bool) -> Result<ChatStream, ApiError> {
    let mut told = Told {
        pending: VecDeque::from([start(running.model())]),
        whole,
        calls: 0,
        id: running.id().to_owned(),
    };
    if let Some(event) = running.next().await {
        told.take(event)?;
    }
    let stream = unfold(Some((running, told)), async |state| {
        let (mut running, mut told) = state?;
        loop {
            if let Some(event) = told.pending.pop_front() {
                return Some((Ok(event), Some((running, told))));
            }
            if let Err(error) = told.take(running.next().await?) {
                return Some((Err(error), None));
            }
        }
    });
    Ok(Box::pin(stream))
}

/// What a run has reported and nobody has read.
struct Told {
    pending: VecDeque<ChatEvent>,
    whole: bool,
    calls: u32,
    /// The id of the answer.
    id: String,
}

impl Told {
    fn take(&mut self, event: AgentEvent) -> Result<(), ModelError> {
        let choice = 0;
        match event {
            AgentEvent::Text(text) => self.pending.push_back(ChatEvent::Text { choice, text }),
            AgentEvent::Resumed { text } if self.whole && !text.is_empty() => {
                self.pending.push_back(ChatEvent::Text { choice, text });
            }
            AgentEvent::Reasoning(text) => {
                self.pending
                    .push_back(ChatEvent::Reasoning { choice, text });
            }
            AgentEvent::CallRequired { id, name, input } => self.call(id, name, input),
            AgentEvent::ApprovalRequired {
                id, name, input, ..
            } => {
                let id = approval::public(&self.id, &id);
                self.call(id, name, input);
            }
            AgentEvent::Ended(outcome) => return self.end(*outcome),
            AgentEvent::Compacted(_)
            | AgentEvent::ToolStarted { .. }
            | AgentEvent::ToolDone { .. }
            | AgentEvent::ToolLimitReached { .. }
            | AgentEvent::SkillLoaded { .. }
            | AgentEvent::Resumed { .. } => {}
        }
        Ok(())
    }

    fn call(&mut self, id: String, name: String, input: Map<String, Value>) {
        let index = self.calls;
        self.calls += 1;
        self.pending.push_back(ChatEvent::ToolCall {
            choice: 0,
            index,
            id: Some(id),
            name: Some(name),
            arguments: Value::Object(input).to_string(),
        });
    }

    fn end(&mut self, outcome: Outcome) -> Result<(), ModelError> {
        let reason = match outcome.ending {
            Ending::Finished(reason) => reason,
            Ending::CallsRequired | Ending::ApprovalRequired => FinishReason::ToolCalls,
            Ending::Silent { .. } | Ending::Repeated { .. } => FinishReason::Stop,
            Ending::Cancelled => {
                let message = "the run was stopped before its end";
                return Err(ModelError::new(ModelErrorKind::Cut, message));
            }
            Ending::Failed(error) => return Err(failed(error)),
        };
        self.pending.push_back(ChatEvent::Finish {
            choice: 0,
            reason,
            raw: reason.as_str().to_owned(),
        });
        self.pending.extend(outcome.usage.map(ChatEvent::Usage));
        Ok(())
    }
}

/// A failed run as a failure of a model, which is what it is to the client.
fn failed(error: AgentError) -> ModelError {
    let kind = match &error {
        AgentError::Model(_) => ModelErrorKind::Provider,
        AgentError::Window { .. } => ModelErrorKind::ContextLength,
        AgentError::Time(_) => ModelErrorKind::Timeout,
        AgentError::Setup { code, .. } => match code {
            ErrorCode::RunModelNotFound => ModelErrorKind::ModelNotFound,
            ErrorCode::RunInvalidRequest => ModelErrorKind::Refused,
            _ => ModelErrorKind::Provider,
        },
    };
    match error {
        AgentError::Model(error) => error,
        other => ModelError::new(kind, other.to_string()),
    }
}

fn refused(refused: &Refused) -> ApiError {
    let wait = refused.retry_after();
    let error = problem(refused.code(), refused.to_string());
    match wait {
        Some(wait) => error.retry_after(wait),
        None => error,
    }
}
