//! Following a run to its end, and stopping it where somebody presses control-C.

use std::pin::pin;

use quillet_agent::{AgentError, AgentEvent, Ending, Outcome};
use quillet_core::chat::{ModelError, ModelErrorKind};
use quillet_host::agent::Running;
use tokio::signal::ctrl_c;

use super::{Call, Screen, Waiting};
use crate::failure::Failure;

/// Shows a run until it is over, and collects its calls. Control-C asks it to stop,
/// which ends the call of the model at once; a second one does not wait for the end.
///
/// # Errors
/// The reader of the text left, or control-C was pressed twice.
pub(crate) async fn follow(
    running: &mut Running,
    screen: &mut Screen,
    calls: &mut Vec<Call>,
) -> Result<Box<Outcome>, Failure> {
    let mut is_stopping = false;
    let mut waiting = Waiting::new();
    loop {
        let mut interrupted = pin!(ctrl_c());
        loop {
            let event = tokio::select! {
                event = running.next() => event,
                _ = &mut interrupted => break,
                () = waiting.tick(screen.is_at_a_new_line()) => continue,
            };
            waiting.heard();
            match event {
                Some(AgentEvent::Ended(outcome)) => return Ok(outcome),
                Some(event) => {
                    Call::note(calls, &event);
                    screen.show(&event)?;
                }
                None => return Err(Failure::Other("the run ended without an end".to_owned())),
            }
        }
        if is_stopping {
            return Err(Failure::Interrupted);
        }
        is_stopping = true;
        running.stop();
    }
}

/// What a command that ends with its run comes to.
pub(crate) fn ended(ending: Ending) -> Result<(), Failure> {
    match ending {
        // What was said is on the screen; whoever reads the code is told that it is not all.
        Ending::Finished(reason) => reason.whole().map_err(|cut| {
            let error = ModelError::new(ModelErrorKind::Cut, cut.to_string());
            AgentError::Model(error).into()
        }),
        Ending::Repeated { .. }
        | Ending::CallsRequired
        | Ending::ApprovalRequired
        | Ending::Silent { .. } => Ok(()),
        Ending::Cancelled => Err(Failure::Interrupted),
        Ending::Failed(error) => Err(error.into()),
    }
}
