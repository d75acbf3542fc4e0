//! The workflow of one run.
//!
//! Temporal replays it from its history on each worker, so it must be deterministic: it reads no
//! clock, makes no calls, and does not depend on map order. It stores events and executes the next
//! command of the last activity.

#![allow(
    missing_docs,
    missing_debug_implementations,
    reason = "the macros generate code for each method"
)]

use std::time::{Duration, SystemTime};

use quillet_core::journal::{Decision, JournalEvent, PendingApproval};
use quillet_core::tool::Idempotency;
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::workflows::{join_all, select};
use temporalio_workflow::{
    ActivityExecutionError, ActivityOptions, ContinueAsNewOptions, MemoValue, RetryPolicy,
    SyncWorkflowContext, TimerOptions, WorkflowCancellationToken, WorkflowContext,
    WorkflowContextView, WorkflowResult, WorkflowTermination,
};

use crate::activities::Agents;
use crate::workflow_state::{
    ActivityInput, ActivityLimits, AdvanceResult, CallInput, DecisionRequest, NextCommand,
    RunResult, StepRef, WorkflowState, WorkflowView,
};

/// Name of the workflow type in Temporal.
pub const NAME: &str = "quillet.agent";
/// Memo field for the state: `running` or `waiting`, and after the run its final state.
pub const STATE: &str = "state";
/// Memo field for the name of the agent or model.
pub const TITLE: &str = "title";

/// History length after which the run continues as new. Temporal's limit is 51,200, but a worker
/// that takes over a run reads the whole history.
const MOST_EVENTS: u32 = 2_000;
/// Maximum attempts of a repeatable activity. An attempt starts only when a worker is available, so
/// this counts crashes.
const ATTEMPTS: u32 = 100;
/// Timeout of preparing a run.
const READY: Duration = Duration::from_secs(300);
/// Time added to each activity timeout for reading and writing events.
const MARGIN: Duration = Duration::from_secs(120);

/// Result of a call without a decision, for the model.
const LATE: &str = "The call was not made: its approval expired without a decision.";

/// Workflow of an agent run or a script run.
#[workflow]
#[derive(Debug)]
pub struct AgentRun {
    course: WorkflowState,
    waiting: Vec<PendingApproval>,
    /// Decisions not yet added to the state.
    decided: Vec<JournalEvent>,
}

#[workflow_methods]
impl AgentRun {
    /// Creates a new run, or a run that the workflow continues as new.
    #[init]
    pub fn new(_ctx: &WorkflowContextView, course: WorkflowState) -> Self {
        AgentRun {
            course,
            waiting: Vec::new(),
            decided: Vec::new(),
        }
    }

    /// Executes the run to completion.
    #[run(name = "quillet.agent")]
    pub async fn run(ctx: &mut WorkflowContext<Self>) -> WorkflowResult<RunResult> {
        let mut came = match ctx.state(|run| run.course.bounds) {
            None => prepare(ctx).await?,
            Some(bounds) => ask(ctx, bounds).await?,
        };
        loop {
            let next = ctx.state_mut(|run| run.apply_result(came));
            let Some(bounds) = ctx.state(|run| run.course.bounds) else {
                return end_run(ctx, next.into_end());
            };
            match next {
                NextCommand::End(end) => return end_run(ctx, end),
                NextCommand::Ask => {}
                NextCommand::Call(needs) => execute_calls(ctx, bounds, needs).await?,
                NextCommand::Decide(waiting) => decisions(ctx, waiting).await?,
            }
            // This is checked only between activities, because continuing as new would drop the
            // result of a pending activity.
            if ctx.history_length() > MOST_EVENTS || ctx.continue_as_new_suggested() {
                let course = ctx.state(|run| run.course.clone());
                ctx.continue_as_new(course, ContinueAsNewOptions::default())?;
            }
            came = ask(ctx, bounds).await?;
        }
    }

    /// Decides a pending approval and returns the call id.
    #[update]
    pub fn decide(
        &mut self,
        _ctx: &mut SyncWorkflowContext<Self>,
        deciding: DecisionRequest,
    ) -> Result<String, Box<dyn std::error::Error + Send + Sync>> {
        // Another client may have decided between the validator and this update.
        let at = self.find(&deciding)?;
        let waiting = self.waiting.remove(at);
        self.decided.push(JournalEvent::Decided {
            call: waiting.call.clone(),
            decision: deciding.decision,
            by: deciding.by.as_str().into(),
        });
        Ok(waiting.call.to_string())
    }

    /// Rejects an invalid decision before the decision is added to the history.
    #[update_validator(decide)]
    pub fn may_decide(
        &self,
        _ctx: &WorkflowContextView,
        deciding: &DecisionRequest,
    ) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        self.find(deciding)?;
        Ok(())
    }

    /// Returns the state of the run.
    #[query]
    pub fn view(&self, _ctx: &WorkflowContextView) -> WorkflowView {
        let decided = self.decided.iter().cloned().map(StepRef::Here);
        WorkflowView {
            waiting: self.waiting.clone(),
            kept: self.course.kept.iter().cloned().chain(decided).collect(),
        }
    }
}

impl AgentRun {
    fn apply_result(&mut self, came: AdvanceResult) -> NextCommand {
        if let Some(moved) = came.moved {
            // The moved list replaces all previous events, so it must be set before new events are
            // added.
            self.course.kept = moved;
        }
        self.course.kept.extend(came.more);
        // Only the activity that prepares the run reports limits; later results keep them.
        self.course.bounds = came.bounds.or(self.course.bounds);
        came.next
    }

    /// Returns the index of the pending call that a decision refers to.
    fn find(&self, deciding: &DecisionRequest) -> Result<usize, String> {
        let run = &self.course.run;
        let Some(call) = &deciding.call else {
            return match self.waiting.len() {
                1 => Ok(0),
                0 => Err(format!("run.not_waiting: run {run:?} has no pending calls")),
                _ => Err(format!(
                    "run.not_waiting: several calls are pending, choose one: {}",
                    self.ids()
                )),
            };
        };
        let at = self
            .waiting
            .iter()
            .position(|waiting| *waiting.call == **call);
        at.ok_or_else(|| {
            let is_meant =
                |step: &JournalEvent| matches!(step, JournalEvent::Decided { call: id, .. } if **id == **call);
            let is_known = |kept: &StepRef| matches!(kept, StepRef::Here(step) if is_meant(step));
            if self.decided.iter().any(is_meant) || self.course.kept.iter().any(is_known) {
                return format!(
                    "run.not_waiting: call {call:?} was already decided by another client"
                );
            }
            if self.waiting.is_empty() {
                return format!("run.not_waiting: run {run:?} has no pending calls");
            }
            let ids = self.ids();
            format!("run.not_waiting: call {call:?} is not pending; pending calls: {ids}")
        })
    }

    fn ids(&self) -> String {
        let ids: Vec<&str> = self.waiting.iter().map(|waiting| &*waiting.call).collect();
        ids.join(", ")
    }

    /// Denies all calls without a decision.
    fn expire(&mut self, now_ms: u64) {
        let is_late = |waiting: &PendingApproval| waiting.expires_ms.is_some_and(|at| at <= now_ms);
        let (late, open): (Vec<_>, Vec<_>) = self.waiting.drain(..).partition(is_late);
        self.waiting = open;
        self.decided
            .extend(late.into_iter().map(|waiting| JournalEvent::Decided {
                call: waiting.call,
                decision: Decision::Deny {
                    note: Some(LATE.to_owned()),
                },
                by: "time".into(),
            }));
    }
}

async fn prepare(ctx: &WorkflowContext<AgentRun>) -> Result<AdvanceResult, WorkflowTermination> {
    let course = ctx.state(|run| run.course.clone());
    let options = options(READY, course.lease(), ATTEMPTS);
    let came = ctx.execute_activity(Agents::prepare, course, options).await;
    came.map_err(stopped)
}

async fn ask(
    ctx: &WorkflowContext<AgentRun>,
    bounds: ActivityLimits,
) -> Result<AdvanceResult, WorkflowTermination> {
    let course = ctx.state(|run| run.course.clone());
    let options = options(bounds.ask() + MARGIN, course.lease(), ATTEMPTS);
    let came = ctx.execute_activity(Agents::ask, course, options).await;
    came.map_err(stopped)
}

/// Makes calls, up to a maximum number concurrently. A call with an unknown outcome is recorded as
/// called but not returned, and then waits for a decision.
async fn execute_calls(
    ctx: &WorkflowContext<AgentRun>,
    bounds: ActivityLimits,
    needs: Vec<ActivityInput>,
) -> Result<(), WorkflowTermination> {
    let course = ctx.state(|run| run.course.clone());
    for group in needs.chunks(bounds.places.max(1)) {
        let calls = group.iter().map(|need| {
            let attempts = match need.repeat {
                Idempotency::Never => 1,
                Idempotency::Freely | Idempotency::WithKey => ATTEMPTS,
            };
            let options = options(bounds.call() + MARGIN, course.lease(), attempts);
            let calling = CallInput {
                course: course.clone(),
                call: need.call.clone(),
            };
            ctx.execute_activity(Agents::call, calling, options)
        });
        let made = join_all(calls).await;
        for (need, made) in group.iter().zip(made) {
            let steps = match made {
                Ok(steps) => steps,
                Err(ActivityExecutionError::Cancelled(_)) => {
                    return Err(WorkflowTermination::cancelled());
                }
                Err(_) => vec![need.called.clone()],
            };
            ctx.state_mut(|run| run.course.kept.extend(steps));
        }
    }
    Ok(())
}

/// Waits until all calls have a decision, or no call needs one any more.
async fn decisions(
    ctx: &WorkflowContext<AgentRun>,
    waiting: Vec<PendingApproval>,
) -> Result<(), WorkflowTermination> {
    ctx.state_mut(|run| run.waiting = waiting);
    set_state_memo(ctx, "waiting")?;
    loop {
        let first = ctx.state(|run| {
            let open = run.waiting.iter();
            open.filter_map(|waiting| waiting.expires_ms).min()
        });
        let Some(at) = first else {
            ctx.wait_condition(|run| run.waiting.is_empty()).await?;
            break;
        };
        let left = at.saturating_sub(now_ms(ctx));
        if left > 0 {
            let token = WorkflowCancellationToken::new();
            let timer = TimerOptions::builder(Duration::from_millis(left));
            let timer = timer.cancellation_token(token.clone()).build();
            let is_decided = select! {
                decided = ctx.wait_condition(|run| run.waiting.is_empty()) => {
                    decided?;
                    true
                }
                _ = ctx.timer(timer) => false,
            };
            if is_decided {
                token.cancel();
                break;
            }
        }
        let now = now_ms(ctx);
        ctx.state_mut(|run| run.expire(now));
    }
    ctx.state_mut(|run| {
        let decided = run.decided.drain(..).map(StepRef::Here);
        run.course.kept.extend(decided);
    });
    set_state_memo(ctx, "running")
}

fn end_run(
    ctx: &WorkflowContext<AgentRun>,
    end: RunResult,
) -> Result<RunResult, WorkflowTermination> {
    set_state_memo(ctx, &end.how)?;
    Ok(RunResult {
        kept: ctx.state(|run| run.course.kept.clone()),
        ..end
    })
}

/// Updates the state of the run shown in lists.
fn set_state_memo(ctx: &WorkflowContext<AgentRun>, state: &str) -> Result<(), WorkflowTermination> {
    ctx.upsert_memo([(STATE, Some(MemoValue::new(state.to_owned())))])?;
    Ok(())
}

/// The time from the history, which is the same on every replay.
fn now_ms(ctx: &WorkflowContext<AgentRun>) -> u64 {
    let now = ctx.workflow_time();
    let now = now.and_then(|now| now.duration_since(SystemTime::UNIX_EPOCH).ok());
    now.map_or(0, |now| u64::try_from(now.as_millis()).unwrap_or(u64::MAX))
}

fn options(longest: Duration, lease: Duration, attempts: u32) -> ActivityOptions {
    let retry = RetryPolicy::builder()
        .initial_interval(Duration::from_millis(100))
        .maximum_interval(Duration::from_secs(5))
        .maximum_attempts(attempts)
        .build();
    ActivityOptions::with_start_to_close_timeout(longest)
        .heartbeat_timeout(lease)
        .retry_policy(retry)
        .build()
}

fn stopped(error: ActivityExecutionError) -> WorkflowTermination {
    match error {
        ActivityExecutionError::Cancelled(_) => WorkflowTermination::cancelled(),
        error => error.into(),
    }
}
