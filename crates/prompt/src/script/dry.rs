//! Dry run of a script without model calls.

use futures_util::StreamExt;
use quillet_core::{Diagnostic, Message};

use super::run::{ScriptEvent, ScriptStream};
use crate::error::ServiceError;
use crate::messages::RenderedPrompt;

/// Which requests a script would make. The answers to them are empty, so a script that
/// decides by an answer may do otherwise later.
#[derive(Clone, Debug, Default)]
pub struct DryRun {
    /// The messages of each request, in order.
    pub requests: Vec<Vec<Message>>,
    /// What the author should know, and what was left out since the run is dry.
    pub warnings: Vec<Diagnostic>,
    /// What could not go on with empty answers, if something could not.
    pub stopped: Option<Box<ServiceError>>,
}

/// What a script renders to: the messages of its first request, or its result if it asks
/// no model.
///
/// # Errors
/// It failed before it would have asked a model.
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
            // After the first request an error may come from the empty answers alone.
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
