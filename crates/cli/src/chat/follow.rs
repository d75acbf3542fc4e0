//! Follows a run to its end, and stops it on Control-C.

use std::pin::pin;

use quillet_agent::{AgentError, AgentEvent, AgentOutcome, EndReason};
use quillet_core::chat::{ModelError, ModelErrorKind};
use quillet_host::agent::RunHandle;
use tokio::signal::ctrl_c;

use super::{ChatPrinter, IdleIndicator, ToolCallDisplay};
use crate::failure::CliError;

/// Shows a run until it ends, and collects its tool calls. The first Control-C stops the run and
/// cancels the model call; a second one returns without waiting.
///
/// # Errors
/// The reader closed the output, or Control-C was pressed twice.
pub(crate) async fn follow_run(
    running: &mut RunHandle,
    screen: &mut ChatPrinter,
    calls: &mut Vec<ToolCallDisplay>,
) -> Result<Box<AgentOutcome>, CliError> {
    let mut is_stopping = false;
    let mut waiting = IdleIndicator::new();
    loop {
        // One signal future is used until Control-C arrives, because creating a new one for each
        // event could miss a signal. `select!` may cancel `running.next()` without losing an event.
        let mut interrupted = pin!(ctrl_c());
        loop {
            let event = tokio::select! {
                event = running.next() => event,
                _ = &mut interrupted => break,
                () = waiting.tick(screen.is_at_a_new_line()) => continue,
            };
            waiting.reset();
            match event {
                Some(AgentEvent::Ended(outcome)) => return Ok(outcome),
                Some(event) => {
                    ToolCallDisplay::record_event(calls, &event);
                    // An error means that the output is closed; returning drops the run, which
                    // stops it.
                    screen.show(&event)?;
                }
                None => {
                    return Err(CliError::Other(
                        "the run ended without a final event".to_owned(),
                    ));
                }
            }
        }
        if is_stopping {
            return Err(CliError::Interrupted);
        }
        is_stopping = true;
        running.stop();
    }
}

/// Returns the result of a command from the end of its run.
pub(crate) fn result_of_ending(ending: EndReason) -> Result<(), CliError> {
    match ending {
        // The partial answer was printed, so only the exit code can report that it is incomplete.
        EndReason::Finished(reason) => reason.ensure_complete().map_err(|cut| {
            let error = ModelError::new(ModelErrorKind::Cut, cut.to_string());
            AgentError::Model(error).into()
        }),
        EndReason::Repeated { .. }
        | EndReason::CallsRequired
        | EndReason::ApprovalRequired
        | EndReason::Silent { .. } => Ok(()),
        EndReason::Cancelled => Err(CliError::Interrupted),
        EndReason::Failed(error) => Err(error.into()),
    }
}
