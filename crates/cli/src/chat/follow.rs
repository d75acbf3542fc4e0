//! Following a run to its end, and stopping it where somebody presses control-C.

use std::pin::pin;

use quillet_agent::{AgentError, AgentEvent, AgentOutcome, EndReason};
use quillet_core::chat::{ModelError, ModelErrorKind};
use quillet_host::agent::RunHandle;
use tokio::signal::ctrl_c;

use super::{ChatPrinter, IdleIndicator, ToolCallDisplay};
use crate::failure::CliError;

/// Shows a run until it is over, and collects its calls. Control-C asks it to stop,
/// which ends the call of the model at once; a second one does not wait for the end.
///
/// # Errors
/// The reader of the text left, or control-C was pressed twice.
pub(crate) async fn follow(
    running: &mut RunHandle,
    screen: &mut ChatPrinter,
    calls: &mut Vec<ToolCallDisplay>,
) -> Result<Box<AgentOutcome>, CliError> {
    let mut is_stopping = false;
    let mut waiting = IdleIndicator::new();
    loop {
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
                    screen.show(&event)?;
                }
                None => return Err(CliError::Other("the run ended without an end".to_owned())),
            }
        }
        if is_stopping {
            return Err(CliError::Interrupted);
        }
        is_stopping = true;
        running.stop();
    }
}

/// What a command that ends with its run comes to.
pub(crate) fn ended(ending: EndReason) -> Result<(), CliError> {
    match ending {
        // What was said is on the screen; whoever reads the code is told that it is not all.
        EndReason::Finished(reason) => reason.whole().map_err(|cut| {
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
