//! Converts the events of an agent run to those of a model.

use std::collections::VecDeque;

use futures_util::stream::unfold;
use quillet_agent::{AgentError, AgentEvent, AgentOutcome, EndReason};
use quillet_core::ErrorCode;
use quillet_core::chat::{ChatEvent, ChatStream, FinishReason, ModelError, ModelErrorKind};
use quillet_host::agent::RunHandle;
use serde_json::{Map, Value};

use super::approval;
use crate::error::ApiError;

/// Returns the start event of a response.
pub(super) fn start(model: &str) -> ChatEvent {
    ChatEvent::Start {
        id: format!("chatcmpl-{}", uuid::Uuid::new_v4().simple()),
        model: model.to_owned(),
        created: 0,
    }
}

/// Waits for the first event of the run, so that earlier failures still have their own HTTP status.
/// With `whole`, a resumed run repeats its earlier text.
pub(super) async fn start_stream(
    mut running: RunHandle,
    whole: bool,
) -> Result<ChatStream, ApiError> {
    let mut told = EventQueue {
        pending: VecDeque::from([start(running.model())]),
        whole,
        calls: 0,
        id: running.id().to_owned(),
    };
    // A failure in the first event determines the HTTP status.
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

/// Events of a run that are not read yet.
struct EventQueue {
    pending: VecDeque<ChatEvent>,
    whole: bool,
    calls: u32,
    /// The id of the response.
    id: String,
}

impl EventQueue {
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

    fn end(&mut self, outcome: AgentOutcome) -> Result<(), ModelError> {
        let reason = match outcome.ending {
            EndReason::Finished(reason) => reason,
            EndReason::CallsRequired | EndReason::ApprovalRequired => FinishReason::ToolCalls,
            EndReason::Silent { .. } | EndReason::Repeated { .. } => FinishReason::Stop,
            EndReason::Cancelled => {
                let message = "the run was stopped before it ended";
                return Err(ModelError::new(ModelErrorKind::Cut, message));
            }
            EndReason::Failed(error) => return Err(failed(error)),
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

/// Converts the error of a failed run to a model error.
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
