//! The agent loop: the model answers, its calls are made, and the model is called again.
//!
//! A run is one future, which may be dropped at any point. State that must be consistent then, such
//! as the history, is in the [`Ledger`].

use quillet_core::chat::FinishReason;
use quillet_core::trace::RUN_ATTRIBUTE;
use tokio::time::sleep;

use crate::answer::CompletedTurn;
use crate::call_plan::judge;
use crate::calls::{self, NextAction};
use crate::compact::Conversation;
use crate::emit::{self, EventStream, Events};
use crate::ledger::Ledger;
use crate::repeats::Repeats;
use crate::scope::RunContext;
use crate::skills::LoadedSkills;
use crate::toolbox::Toolbox;
use crate::turn;
use crate::{AgentError, AgentEvent, EndReason, RunSpec, spans};

/// Maximum number of consecutive truncated calls that are reported to the model. The run ends after
/// the next one.
const CUT_CALLS: u32 = 3;

/// Runs the loop until the model makes no more calls or a limit ends the run. The run advances only
/// while the stream is read, and stops when the stream is dropped. The last event is
/// [`AgentEvent::Ended`], exactly once.
#[must_use = "a run goes only while its events are read"]
pub fn run(run: RunSpec) -> EventStream {
    emit::stream(|events| drive(run, events))
}

async fn drive(run: RunSpec, events: Events) {
    let limit = run.limits.run_time;
    let cancelled = run.cancelled;
    let span = spans::run(
        &run.tracer,
        run.parent_span.as_deref(),
        run.agent.as_deref(),
        run.model_name.as_deref(),
        run.prompt.as_ref(),
    );
    if run.is_journalled {
        span.set(RUN_ATTRIBUTE, || &*run.id);
    }
    let mut toolbox = Toolbox::new(run.tools, run.silent_exit, run.client_tools);
    toolbox.remember(&run.skills.available);
    let skills = LoadedSkills::new(run.skills);
    toolbox.add_loader(skills.tool());
    let counter = run.counter.clone();
    // The system prompt is set before each turn, because loading skills changes it.
    let conversation = Conversation::new(counter, String::new(), run.history, run.input);
    let mut ledger = Ledger::new(&run.id, conversation, skills);
    let scope = RunContext {
        id: run.id,
        model: run.model,
        model_name: run.model_name,
        window: run.window,
        system: run.system,
        options: run.options,
        counter: run.counter,
        limits: run.limits,
        approver: run.approver,
        tracer: run.tracer,
        span,
        events,
    };
    let ending = tokio::select! {
        // The order matters: cancellation is checked before the timeout, and both before the next
        // step.
        biased;
        () = cancelled => EndReason::Cancelled,
        () = sleep(limit) => EndReason::Failed(AgentError::Time(limit)),
        ending = converse(&scope, toolbox, &mut ledger) => ending,
    };
    // The loop future is dropped by now, and with it every call in progress.
    for done in ledger.finish_run(&ending) {
        scope.events.send(done).await;
    }
    let outcome = ledger.outcome(ending);
    spans::end_run(&scope.span, &outcome);
    // The span is closed before the last event, because a reader may drop the stream after that
    // event.
    drop(scope.span);
    let ended = AgentEvent::Ended(Box::new(outcome));
    scope.events.send(ended).await;
}

/// Next step of the loop after a turn.
enum LoopStep {
    /// Make the calls, then call the model again.
    Calls,
    /// Call the model again.
    Again,
    /// End the run.
    End,
}

async fn converse(scope: &RunContext, mut toolbox: Toolbox, ledger: &mut Ledger) -> EndReason {
    let mut repeats = Repeats::default();
    let mut circles = false;
    let mut cut_in_a_row = 0;
    loop {
        // `announce_limit` comes first, because its notice must be added even if `circles` is set.
        let last = announce_limit(scope, ledger).await || circles;
        let turn = match turn::run_turn(scope, &mut toolbox, last, ledger).await {
            Ok(turn) => turn,
            Err(error) => return EndReason::Failed(error),
        };
        cut_in_a_row = if turn.cut_call { cut_in_a_row + 1 } else { 0 };
        match step(&turn, last, cut_in_a_row) {
            LoopStep::End if circles => {
                return after_circle(turn.reason, scope.limits.repeated_calls);
            }
            LoopStep::End => return EndReason::Finished(turn.reason),
            // A turn that the provider pauses counts as a round. Otherwise, a provider that only
            // pauses would be called forever.
            LoopStep::Again => ledger.rounds += 1,
            LoopStep::Calls => {
                ledger.rounds += 1;
                let judged = judge(turn, &toolbox, &scope.limits);
                match calls::make(scope, judged, ledger).await {
                    NextAction::GoOn => {
                        let most = scope.limits.repeated_calls;
                        circles = repeats.circle(&ledger.take_round(), most);
                        if circles {
                            ledger.notice(&circle_notice(most));
                        }
                    }
                    NextAction::ClientsTurn => return EndReason::CallsRequired,
                    NextAction::Waits => return EndReason::ApprovalRequired,
                    NextAction::Silent { reason } => return EndReason::Silent { reason },
                }
            }
        }
    }
}

/// Returns whether the limit on rounds is reached, so that the next turn is the last. The model
/// then gets a notice, and the results of this turn are not compacted, because the last answer
/// needs them.
async fn announce_limit(scope: &RunContext, ledger: &mut Ledger) -> bool {
    let rounds = ledger.rounds;
    let limits = &scope.limits;
    let last = rounds >= limits.tool_rounds;
    if last && rounds > 0 {
        ledger.limit_reached(&limits.limit_notice);
        let event = AgentEvent::ToolLimitReached { rounds };
        scope.events.send(event).await;
    }
    last
}

/// Notice before the last answer of a model that repeats itself.
fn circle_notice(most: u32) -> String {
    format!(
        "[System notice] The same calls were made {most} times, with the same results. No more calls \
         are made. Answer now with what you have, and say what is missing."
    )
}

/// End reason after the last answer of a model that was stopped for repeating itself.
fn after_circle(reason: FinishReason, times: u32) -> EndReason {
    match reason {
        FinishReason::Stop | FinishReason::ToolCalls | FinishReason::Pause => {
            EndReason::Repeated { times }
        }
        other => EndReason::Finished(other),
    }
}

/// Returns the next step after a turn. Calls are made only if the finish reason shows that the turn
/// is complete.
fn step(turn: &CompletedTurn, last: bool, cut_in_a_row: u32) -> LoopStep {
    let no_calls = turn.calls.is_empty();
    match turn.reason {
        // Checked first, because no finish reason may extend a run beyond its limits.
        _ if last || cut_in_a_row > CUT_CALLS => LoopStep::End,
        FinishReason::ContentFilter | FinishReason::Refusal | FinishReason::Error => LoopStep::End,
        FinishReason::Pause if no_calls => LoopStep::Again,
        _ if no_calls => LoopStep::End,
        _ => LoopStep::Calls,
    }
}
