//! A turn of the model: its request and its streamed answer.

use futures_util::StreamExt;
use quillet_core::ToolCall;
use quillet_core::chat::{ChatEvent, ChatStream, FinishReason, ModelError, ModelErrorKind};

use crate::answer::{CompletedTurn, PartialTurn};
use crate::ledger::Ledger;
use crate::request;
use crate::scope::RunContext;
use crate::spans::ModelSpan;
use crate::toolbox::Toolbox;
use crate::{AgentError, AgentEvent};

/// Calls the model and forwards its answer. `ledger.partial` always contains the answer so far.
pub(crate) async fn run_turn(
    scope: &RunContext,
    toolbox: &mut Toolbox,
    last: bool,
    ledger: &mut Ledger,
) -> Result<CompletedTurn, AgentError> {
    request::prepare(scope, toolbox, ledger).await?;
    let (answer, mut span) = request::ask(scope, toolbox, last, ledger).await?;
    let heard = listen(scope, answer, &mut span, &mut ledger.partial).await;
    span.record_answer(&ledger.partial);
    match heard {
        Ok(reason) => Ok(ledger.finish_turn(reason)),
        Err(error) => {
            span.failed(&error);
            Err(error.into())
        }
    }
}

async fn listen(
    scope: &RunContext,
    mut answer: ChatStream,
    span: &mut ModelSpan,
    turn: &mut PartialTurn,
) -> Result<FinishReason, ModelError> {
    let mut reason = None;
    let mut left = scope.limits.answer_bytes;
    while let Some(event) = answer.next().await {
        let event = event?;
        span.on_delta();
        match left.checked_sub(weight(&event)) {
            Some(rest) => left = rest,
            None => return Err(too_long(scope)),
        }
        if let ChatEvent::Finish {
            choice: 0,
            reason: why,
            ..
        } = event
        {
            reason = Some(why);
        }
        if let Some(event) = apply_event(turn, event) {
            scope.events.send(event).await;
        }
    }
    match (reason, turn.refused) {
        (Some(FinishReason::Stop), true) => Ok(FinishReason::Refusal),
        (Some(reason), _) => Ok(reason),
        (None, _) => Err(cut(scope)),
    }
}

fn cut(scope: &RunContext) -> ModelError {
    let model = scope.model.describe();
    let message = format!("{model}: the answer ended without a finish reason");
    ModelError::new(ModelErrorKind::Cut, message)
}

/// Returns the number of bytes that an event adds to the turn.
fn weight(event: &ChatEvent) -> usize {
    match event {
        ChatEvent::Text { text, .. }
        | ChatEvent::Reasoning { text, .. }
        | ChatEvent::Refusal { text, .. } => text.len(),
        // A call without arguments uses memory too.
        ChatEvent::ToolCall {
            id: Some(_),
            arguments,
            ..
        } => arguments.len() + size_of::<ToolCall>(),
        ChatEvent::ToolCall { arguments, .. } => arguments.len(),
        _ => 0,
    }
}

fn too_long(scope: &RunContext) -> ModelError {
    let model = scope.model.describe();
    let limit = scope.limits.answer_bytes;
    let message = format!("{model}: the answer is longer than the limit on answer_bytes ({limit})");
    ModelError::new(ModelErrorKind::Protocol, message)
}

/// Adds an event to the turn, and returns the resulting event for the reader. A run uses one
/// choice, so events of others are ignored.
pub(crate) fn apply_event(turn: &mut PartialTurn, event: ChatEvent) -> Option<AgentEvent> {
    match event {
        ChatEvent::Text { choice: 0, text } => push_text(turn, text),
        ChatEvent::Refusal { choice: 0, text } => {
            turn.refused = true;
            push_text(turn, text)
        }
        ChatEvent::Reasoning { choice: 0, text } => {
            turn.reasoning.push_str(&text);
            (!text.is_empty()).then_some(AgentEvent::Reasoning(text))
        }
        ChatEvent::ToolCall { choice: 0, .. }
        | ChatEvent::Native { choice: 0, .. }
        | ChatEvent::Finish { choice: 0, .. }
        | ChatEvent::Start { .. }
        | ChatEvent::Usage(_) => {
            turn.rest.fold(event);
            None
        }
        _ => None,
    }
}

fn push_text(turn: &mut PartialTurn, text: String) -> Option<AgentEvent> {
    turn.text.push_str(&text);
    (!text.is_empty()).then_some(AgentEvent::Text(text))
}
