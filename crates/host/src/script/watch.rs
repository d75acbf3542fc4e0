//! Events of a run for its reader.

use quillet_core::{Diagnostic, ErrorCode};
use quillet_prompt::{ScriptEvent, ScriptFailure, ServiceError, StoredScriptOutcome};
use quillet_script::ScriptError;
use quillet_script::host::{Observer, RunEvent};
use quillet_script::run::ScriptOutcome;
use tokio::sync::mpsc::UnboundedSender;

/// Forwards events. The reader also drives the run, so the queue holds at most the events of one
/// poll.
#[derive(Debug)]
pub(super) struct EventSender {
    pub(super) sender: UnboundedSender<ScriptEvent>,
}

impl Observer for EventSender {
    fn event(&self, event: RunEvent) {
        if let Some(event) = to_script_event(event) {
            // A failed send means that the reader has dropped the run.
            let _ = self.sender.send(event);
        }
    }
}

pub(crate) fn to_script_event(event: RunEvent) -> Option<ScriptEvent> {
    Some(match event {
        RunEvent::Printed(line) => ScriptEvent::Printed(line),
        RunEvent::Delta {
            text,
            closing: true,
            ..
        } => ScriptEvent::Text(text),
        RunEvent::Delta { role, text, .. } => ScriptEvent::Said { role, text },
        RunEvent::Thinking { text } => ScriptEvent::Reasoning(text),
        RunEvent::Request(request) => ScriptEvent::Request(request.messages),
        RunEvent::ToolCall { name, arguments } => ScriptEvent::ToolCall { name, arguments },
        RunEvent::ToolResult { name, result } => ScriptEvent::ToolResult { name, result },
        RunEvent::Warning(found) => ScriptEvent::Warning(found),
        RunEvent::Message { .. } => return None,
    })
}

pub(crate) fn outcome(outcome: ScriptOutcome) -> StoredScriptOutcome {
    StoredScriptOutcome {
        value: outcome.value.unwrap_or_default(),
        usage: outcome.usage,
        model_calls: outcome.model_calls,
        enforced: outcome.enforced,
        warnings: outcome.warnings,
    }
}

pub(crate) fn failure(id: &str, error: ScriptError) -> ServiceError {
    ServiceError::Script(Box::new(ScriptFailure {
        id: id.to_owned(),
        code: error.kind.code(),
        diagnostics: error.diagnostics,
        chain: error.chain,
        model: error.model.map(|error| *error),
    }))
}

/// Failure without a location in a script.
pub(super) fn plain(id: &str, code: ErrorCode, message: String, help: &str) -> ServiceError {
    ServiceError::Script(Box::new(ScriptFailure {
        id: id.to_owned(),
        code,
        diagnostics: vec![Diagnostic::error(code, id, message).help(help)],
        chain: Vec::new(),
        model: None,
    }))
}
