//! Dry run of a script without model calls.

use futures_util::StreamExt;
use quillet_core::{Diagnostic, Message};

use super::run::{ScriptEvent, ScriptStream};
use crate::error::ServiceError;
use crate::messages::RenderedPrompt;

/// Requests that a script would make. Each gets an empty response, so a script that depends on
/// responses may behave differently in a real run.
#[derive(Clone, Debug, Default)]
pub struct DryRun {
    /// Messages of each request, in order.
    pub requests: Vec<Vec<Message>>,
    /// Warnings for the author, including the calls that the dry run skipped.
    pub warnings: Vec<Diagnostic>,
    /// The error that stopped the script, if it could not continue with empty responses.
    pub stopped: Option<Box<ServiceError>>,
}

/// Runs a script dry. The result contains the messages of its first request, or the script's result
/// if it makes no request.
///
/// # Errors
/// The script failed before its first request.
pub(crate) async fn dry_run(
    mut run: ScriptStream,
) -> Result<(RenderedPrompt, DryRun), ServiceError> {
    let mut dry = DryRun::default();
    let mut text = String::new();
    while let Some(event) = run.next().await {
        match event {
            Ok(ScriptEvent::Request(messages)) => dry.requests.push(messages),
            Ok(ScriptEvent::Warning(found)) => dry.warnings.push(found),
            Ok(ScriptEvent::Ended(outcome)) => text = outcome.text(),
            Ok(_) => {}
            // After the first request, empty responses may be the only cause of an error.
            Err(error) if dry.requests.is_empty() => return Err(error),
            Err(error) => dry.stopped = Some(Box::new(error)),
        }
    }
    let prompt = match dry.requests.first() {
        Some(messages) => RenderedPrompt::Messages(messages.clone()),
        None => RenderedPrompt::Text(text),
    };
    Ok((prompt, dry))
}
