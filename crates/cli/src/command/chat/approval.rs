//! Approval of tool calls on the terminal.

use quillet_core::journal::{ApprovalReason, Decision};
use quillet_host::agent::{AgentService, CallDecision, Principal};
use serde_json::{Map, Value};

use super::input::{InputSource, UserInput};
use crate::chat::one_line;
use crate::failure::CliError;
use crate::terminal;

/// Asks for a decision about each pending call of a run.
///
/// # Errors
/// If the input ends, the calls stay pending.
pub(super) async fn ask(
    agents: &AgentService,
    run: &str,
    input: &mut InputSource,
) -> Result<(), CliError> {
    let (who, id) = Principal::of_run(run);
    let (head, _) = agents.run(&who, &id, 0).await?;
    for waiting in head.standing.waiting {
        let question = question(&waiting.tool, &waiting.arguments, waiting.why);
        let Some(decision) = decision(&question, input).await? else {
            terminal::note(&format!(
                "the approval stays pending: run `quillet runs decide {run} approve` and `quillet runs resume {run}`"
            ));
            return Err(CliError::Interrupted);
        };
        let deciding = CallDecision {
            call: Some(waiting.call.to_string()),
            decision,
            by: "terminal".to_owned(),
        };
        agents.decide(&who, &id, deciding).await?;
    }
    Ok(())
}

/// Asks until there is a decision. Returns `None` if the input ends.
///
/// # Errors
/// The terminal cannot be read.
pub(crate) async fn decision(
    question: &str,
    input: &mut InputSource,
) -> Result<Option<Decision>, CliError> {
    terminal::note(question);
    loop {
        match input.next().await? {
            UserInput::Line(line) => match read(line.trim()) {
                Some(decision) => return Ok(Some(decision)),
                None => terminal::note("y, n, or a reason to deny"),
            },
            UserInput::Interrupt | UserInput::End => return Ok(None),
        }
    }
}

/// Returns the question to show for a call.
pub(crate) fn question(tool: &str, arguments: &Map<String, Value>, why: ApprovalReason) -> String {
    let why = match why {
        ApprovalReason::Permission => "needs approval. Allow the call?",
        ApprovalReason::Unknown => "may have been called already. Call it again?",
    };
    let arguments = Value::Object(arguments.clone()).to_string();
    format!(
        "{}({}) {why} y, n, or a reason to deny",
        one_line(tool, 64),
        one_line(&arguments, 400)
    )
}

/// Parses an answer: `y` approves. `n` and any other text deny the call, and the model receives the
/// text as the reason.
fn read(line: &str) -> Option<Decision> {
    match line.to_ascii_lowercase().as_str() {
        "" => None,
        "y" | "yes" => Some(Decision::Approve {
            arguments: None,
            note: None,
        }),
        "n" | "no" => Some(Decision::Deny { note: None }),
        _ => Some(Decision::Deny {
            note: Some(format!("The call was not made. The user says: {line}")),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_yes_agrees() {
        assert_eq!(read(""), None);
        for yes in ["y", "Y", "yes"] {
            assert!(matches!(read(yes), Some(Decision::Approve { .. })), "{yes}");
        }
        for no in ["n", "No", "yep", "y?", "ja", "later"] {
            assert!(matches!(read(no), Some(Decision::Deny { .. })), "{no}");
        }
    }
}
