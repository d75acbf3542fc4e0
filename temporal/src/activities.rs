//! Activities of a run: preparing it, one model call, one tool call.
//!
//! An activity may be interrupted at any point; the retry policy of the workflow decides whether it
//! is repeated. It keeps no state of its own: everything it produces is in its result.

#![allow(
    missing_docs,
    missing_debug_implementations,
    reason = "the macros generate code for each method"
)]

use std::sync::Arc;
use std::time::Duration;

use quillet_core::journal::{JournalEvent, RecordedFailure};
use quillet_core::store::{StoreError, StoreErrorKind};
use quillet_core::tool::{Idempotency, ToolError, ToolErrorKind};
use quillet_host::agent::{self, AdvanceMode, AgentService};
use temporalio_common::error::ApplicationFailure;
use temporalio_macros::activities;
use temporalio_sdk::activities::{ActivityContext, ActivityError};
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval};

use crate::step_store::StepStore;
use crate::workflow_state::{
    ActivityInput, ActivityLimits, AdvanceResult, CallInput, NextCommand, RunResult, StepRef,
    WorkflowState,
};

/// Heartbeat timeout if the workflow sets none.
const LEASE: Duration = Duration::from_secs(10);

/// Activities that advance agent runs and script runs.
#[derive(Debug)]
pub struct Agents {
    service: Arc<AgentService>,
    shelf: StepStore,
}

#[activities]
impl Agents {
    /// Prepares a run: renders the agent's instructions, and finds the history and the tools.
    #[activity(name = "quillet.prepare")]
    pub async fn prepare(
        self: Arc<Self>,
        ctx: ActivityContext,
        course: WorkflowState,
    ) -> Result<AdvanceResult, ActivityError> {
        with_heartbeat(&ctx, async move {
            self.advance(course, AdvanceMode::Nothing).await
        })
        .await
    }

    /// Advances the run to the next model call and makes this call.
    #[activity(name = "quillet.ask")]
    pub async fn ask(
        self: Arc<Self>,
        ctx: ActivityContext,
        course: WorkflowState,
    ) -> Result<AdvanceResult, ActivityError> {
        with_heartbeat(&ctx, async move {
            self.advance(course, AdvanceMode::Question).await
        })
        .await
    }

    /// Makes one tool call, or one model call of a script.
    #[activity(name = "quillet.call")]
    pub async fn call(
        self: Arc<Self>,
        ctx: ActivityContext,
        calling: CallInput,
    ) -> Result<Vec<StepRef>, ActivityError> {
        with_heartbeat(&ctx, async move { self.execute_call(calling).await }).await
    }
}

impl Agents {
    /// Creates the activities from an agent service and a step store.
    #[must_use]
    pub fn new(service: Arc<AgentService>, shelf: StepStore) -> Self {
        Agents { service, shelf }
    }

    async fn advance(
        &self,
        course: WorkflowState,
        permit: AdvanceMode,
    ) -> Result<AdvanceResult, StoreError> {
        let steps = self.shelf.steps(&course.kept).await?;
        let advanced = self.service.advance(&course.run, steps, permit).await?;
        let next = self.next(&advanced).await?;
        let (moved, more) = tokio::join!(
            self.shelf.move_to_journal(&course.kept),
            self.shelf.store_large(advanced.steps)
        );
        Ok(AdvanceResult {
            moved,
            more: more?,
            next,
            bounds: advanced.bounds.map(bounds),
        })
    }

    async fn next(&self, advanced: &agent::RunProgress) -> Result<NextCommand, StoreError> {
        Ok(match &advanced.next {
            agent::NextStep::Question => NextCommand::Ask,
            agent::NextStep::Calls(calls) => {
                let mut needs = Vec::with_capacity(calls.len());
                for called in calls {
                    let (call, repeat) = match called {
                        JournalEvent::Called { call, repeat, .. } => (call.clone(), *repeat),
                        JournalEvent::Asked {
                            place: Some(place), ..
                        } => (place.as_str().into(), Idempotency::Freely),
                        _ => continue,
                    };
                    let kept = self.shelf.store_large(vec![called.clone()]).await?;
                    needs.extend(kept.into_iter().map(|kept| ActivityInput {
                        call: call.clone(),
                        repeat,
                        called: kept,
                    }));
                }
                NextCommand::Call(needs)
            }
            agent::NextStep::Decision(waiting) => NextCommand::Decide(waiting.clone()),
            agent::NextStep::End => NextCommand::End(ended(&advanced.steps)),
        })
    }

    async fn execute_call(&self, calling: CallInput) -> Result<Vec<StepRef>, StoreError> {
        let CallInput { course, call } = calling;
        let steps = self.shelf.steps(&course.kept).await?;
        let permit = AdvanceMode::Call(call.clone());
        let advanced = self.service.advance(&course.run, steps, permit).await?;
        let is_done = |step: &JournalEvent| match step {
            JournalEvent::Returned { call: made, .. } => *made == call,
            // A script may make only this model call, so any answer is its answer.
            JournalEvent::Answered { .. } | JournalEvent::Unanswered { .. } => true,
            _ => false,
        };
        if !advanced.steps.iter().any(is_done) {
            let message = format!(
                "run id {:?}: the run did not reach the call {call}: its agent, the settings of its script \
                 or its tools have changed",
                course.run
            );
            return Err(StoreError::new(StoreErrorKind::Unavailable, message));
        }
        let mut steps = advanced.steps;
        if let Ok(kept) = self.shelf.store_large(steps.clone()).await {
            return Ok(kept);
        }
        // The tool was called, so the call must not be repeated. The event records that the result
        // was too large.
        for step in &mut steps {
            if let JournalEvent::Returned { result, .. } = step {
                *result = Err(unkept());
            }
        }
        self.shelf.store_large(steps).await
    }
}

/// Does some work and sends heartbeats meanwhile. The work is a separate task, so blocking its
/// thread, for example to parse megabytes of JSON, does not delay heartbeats. Cancelled work is
/// dropped, which stops the model and the tools.
async fn with_heartbeat<T: Send + 'static>(
    ctx: &ActivityContext,
    work: impl Future<Output = Result<T, StoreError>> + Send + 'static,
) -> Result<T, ActivityError> {
    let lease = ctx.info().heartbeat_timeout.unwrap_or(LEASE);
    let mut beat = interval(lease / 4);
    beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut task = JoinSet::new();
    task.spawn(work);
    loop {
        tokio::select! {
            biased;
            done = task.join_next() => return match done {
                Some(Ok(done)) => done.map_err(failed),
                Some(Err(error)) => Err(ActivityError::application(ApplicationFailure::new(error))),
                None => Err(ActivityError::cancelled()),
            },
            () = ctx.cancelled() => return Err(ActivityError::cancelled()),
            _ = beat.tick() => ctx.record_heartbeat(()).await?,
        }
    }
}

fn unkept() -> RecordedFailure {
    let message = "The call was made, but its result exceeds the limit of the journal and is lost.";
    let error = ToolError::new(ToolErrorKind::TooLarge, message);
    RecordedFailure {
        kind: error.kind,
        message: error.message,
        for_model: message.to_owned(),
    }
}

fn bounds(bounds: agent::RunTimeouts) -> ActivityLimits {
    ActivityLimits {
        call_ms: millis(bounds.call_time),
        ask_ms: millis(bounds.run_time),
        places: bounds.concurrent_calls,
    }
}

fn ended(steps: &[JournalEvent]) -> RunResult {
    let end = steps.iter().rev().find_map(|step| match step {
        JournalEvent::Ended { how, error, .. } => Some((how.clone(), error.clone())),
        _ => None,
    });
    let (how, error) = end.unwrap_or_else(|| ("error".into(), None));
    RunResult {
        how,
        error,
        kept: Vec::new(),
    }
}

/// Invalid input fails on every attempt; any other failure may be temporary.
fn failed(error: StoreError) -> ActivityError {
    let is_final = matches!(
        error.kind,
        StoreErrorKind::Refused | StoreErrorKind::Configuration
    );
    let failure = if is_final {
        ApplicationFailure::non_retryable(error)
    } else {
        ApplicationFailure::new(error)
    };
    ActivityError::application(failure)
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
