//! Response of a script: model events for callers that only know models, or a result value for all
//! others.

use std::collections::VecDeque;

use futures_util::StreamExt;
use futures_util::stream::unfold;
use quillet_core::Value;
use quillet_core::chat::{ChatEvent, ChatStream, FinishReason, ModelError, ModelErrorKind};

use super::run::{ScriptEvent, ScriptStream, StoredScriptOutcome};
use crate::error::ServiceError;

/// Runs a script to its end and returns the result.
///
/// # Errors
/// The script failed.
pub(crate) async fn value(mut run: ScriptStream) -> Result<Value, ServiceError> {
    while let Some(event) = run.next().await {
        if let ScriptEvent::Ended(outcome) = event? {
            return Ok(outcome.value);
        }
    }
    Ok(Value::Null)
}

/// Converts a run to model events: the text of the result, and the usage. The call returns when the
/// first text is available, so that earlier failures are returned as errors.
///
/// # Errors
/// The script failed before its first text.
pub(crate) async fn chat_stream(
    run: ScriptStream,
    id: &str,
    model: &str,
) -> Result<ChatStream, ServiceError> {
    let mut told = ScriptChatStream {
        run,
        pending: VecDeque::from([ChatEvent::Start {
            id: id.to_owned(),
            model: model.to_owned(),
            created: 0,
        }]),
        said: 0,
        ended: false,
    };
    // The start event is always pending, so a second event contains the first text.
    while told.pending.len() == 1 && !told.ended {
        told.advance().await?;
    }
    let stream = unfold(told, async |mut told| {
        loop {
            if let Some(event) = told.pending.pop_front() {
                return Some((Ok(event), told));
            }
            if told.ended {
                return None;
            }
            if let Err(error) = told.advance().await {
                // An error is the last item, because a truncated stream must not continue.
                told.ended = true;
                return Some((Err(as_model(error)), told));
            }
        }
    });
    Ok(Box::pin(stream))
}

struct ScriptChatStream {
    run: ScriptStream,
    pending: VecDeque<ChatEvent>,
    /// Number of bytes of the result's text that were sent.
    said: usize,
    ended: bool,
}

impl ScriptChatStream {
    async fn advance(&mut self) -> Result<(), ServiceError> {
        match self.run.next().await.transpose()? {
            Some(ScriptEvent::Text(text)) => self.push_text(text),
            Some(ScriptEvent::Reasoning(text)) => {
                self.pending
                    .push_back(ChatEvent::Reasoning { choice: 0, text });
            }
            Some(ScriptEvent::Ended(outcome)) => self.end(&outcome),
            Some(_) => {}
            None => self.ended = true,
        }
        Ok(())
    }

    fn push_text(&mut self, text: String) {
        self.said += text.len();
        self.pending.push_back(ChatEvent::Text { choice: 0, text });
    }

    fn end(&mut self, outcome: &StoredScriptOutcome) {
        self.ended = true;
        let text = outcome.text();
        // The sent text is a prefix of the result, so only the remainder is missing.
        if let Some(rest) = text.get(self.said..).filter(|rest| !rest.is_empty()) {
            self.push_text(rest.to_owned());
        }
        let reason = FinishReason::Stop;
        self.pending.push_back(ChatEvent::Finish {
            choice: 0,
            reason,
            raw: reason.as_str().to_owned(),
        });
        // Zero tokens would look like a measured usage.
        if outcome.model_calls > 0 {
            self.pending.push_back(ChatEvent::Usage(outcome.usage));
        }
    }
}

/// Converts a late error for callers that only know models.
fn as_model(error: ServiceError) -> ModelError {
    match error {
        ServiceError::Model { error, .. } => error,
        ServiceError::Script(failure) => match failure.model {
            Some(error) => error,
            None => ModelError::new(ModelErrorKind::Cut, failure.to_string()),
        },
        other => ModelError::new(ModelErrorKind::Cut, other.to_string()),
    }
}
