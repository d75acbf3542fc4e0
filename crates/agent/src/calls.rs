//! Concurrent execution of the calls of one turn.

use std::collections::VecDeque;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use quillet_core::{ToolCall, Value};
use serde_json::{Map, Value as Json};

use crate::AgentEvent;
use crate::approval_check::{self, ApprovalOutcome};
use crate::call_plan::{CallAction, PlannedCall, SortedCalls, argument};
use crate::calling::{self, FinishedCall, StartedCall};
use crate::failure::CallFailure;
use crate::ledger::Ledger;
use crate::results;
use crate::scope::RunContext;

/// Next step of the run after the calls of a turn.
pub(crate) enum NextAction {
    /// Call the model again.
    GoOn,
    /// End the run, so that the client can make calls.
    ClientsTurn,
    /// End the run until calls are approved.
    Waits,
    /// End the run silently.
    Silent {
        /// The reason.
        reason: String,
    },
}

/// Makes the calls of a turn that this run executes. Results are added to the history in the order
/// of the calls, but events are sent in the order in which the calls finish.
pub(crate) async fn make(
    scope: &RunContext,
    judged: SortedCalls,
    ledger: &mut Ledger,
) -> NextAction {
    let held = make_ours(scope, judged.ours, ledger).await;
    // Added before the run stops for approval, so that a resumed run has the results.
    ledger.close_calls();
    if !held.is_empty() {
        for required in held {
            scope.events.send(required).await;
        }
        return NextAction::Waits;
    }
    // Checked after the approvals, because a silent exit must not hide a pending call.
    if let Some(reason) = judged.silent {
        return NextAction::Silent { reason };
    }
    if judged.for_client.is_empty() {
        return NextAction::GoOn;
    }
    // Sent last, because the run ends after these events and the client makes the calls.
    for required in judged.for_client {
        scope.events.send(required).await;
    }
    NextAction::ClientsTurn
}

/// Starts calls within the concurrency limit, until all are complete. Calls that need approval are
/// not started, and are returned.
async fn make_ours(
    scope: &RunContext,
    mut waiting: VecDeque<PlannedCall>,
    ledger: &mut Ledger,
) -> Vec<AgentEvent> {
    // With a limit of 0, the run would wait forever.
    let places = scope.limits.concurrent_calls.max(1);
    let mut running = FuturesUnordered::new();
    let mut held = Vec::new();
    loop {
        while running.len() < places
            && let Some(next) = waiting.pop_front()
        {
            // Calls in progress run in separate tasks, so they continue while a person decides.
            let next = match approval_check::request_approval(scope, next).await {
                ApprovalOutcome::Go(next) => next,
                ApprovalOutcome::Waits(required) => {
                    held.push(required);
                    continue;
                }
            };
            let begun = begin(scope, next.index, next.call, &next.input, ledger).await;
            match next.plan {
                CallAction::Make(tool) => {
                    running.push(calling::start(scope, tool, begun, next.input))
                }
                // Loaded without a task, because a spawned task cannot borrow the ledger.
                CallAction::LoadSkill => load_skill(scope, begun, &next.input, ledger).await,
                CallAction::SilentExit => end(scope, begun.done(Ok(Value::Null)), ledger).await,
                CallAction::Refuse(failure) => end(scope, begun.done(Err(failure)), ledger).await,
                CallAction::Answer(text) => {
                    end(scope, begun.done(Ok(Value::from(text))), ledger).await
                }
            }
        }
        match running.next().await {
            Some(done) => end(scope, done, ledger).await,
            None => return held,
        }
    }
}

async fn begin(
    scope: &RunContext,
    index: usize,
    call: ToolCall,
    input: &Map<String, Json>,
    ledger: &mut Ledger,
) -> StartedCall {
    // Recorded before the event is sent: if the run is cancelled in between, the call still gets an
    // end event.
    ledger.started(index);
    let started = AgentEvent::ToolStarted {
        id: call.id.clone(),
        name: call.name.clone(),
        input: input.clone(),
    };
    scope.events.send(started).await;
    StartedCall::new(scope, index, call)
}

async fn load_skill(
    scope: &RunContext,
    begun: StartedCall,
    input: &Map<String, Json>,
    ledger: &mut Ledger,
) {
    let name = argument(input, "skill_name");
    let loaded = ledger.skills.load(&name);
    let answer = if loaded.is_error {
        Err(CallFailure::arguments(loaded.text))
    } else {
        Ok(Value::from(loaded.text))
    };
    end(scope, begun.done(answer), ledger).await;
    if loaded.newly {
        scope.events.send(AgentEvent::SkillLoaded { name }).await;
    }
}

async fn end(scope: &RunContext, done: FinishedCall, ledger: &mut Ledger) {
    let FinishedCall {
        begun,
        answer,
        images,
        took,
    } = done;
    let images = results::images(images, scope);
    let (for_model, output, error) = match answer {
        Ok(output) => {
            let for_model = results::cut(results::text(&output), scope) + &images.left_out;
            begun.span.record_answer(&for_model);
            (for_model, output, None)
        }
        Err(failure) => {
            begun.span.failed(&failure);
            let for_model = results::cut(failure.text.clone(), scope);
            (for_model, Value::Null, Some(failure.text))
        }
    };
    ledger.record_result(
        begun.index,
        for_model.clone(),
        images.shown,
        error.is_some(),
    );
    let done = AgentEvent::ToolDone {
        id: begun.call.id,
        name: begun.call.name,
        sources: ledger.sources.collect(&output),
        output,
        for_model,
        error,
        took,
    };
    scope.events.send(done).await;
}
