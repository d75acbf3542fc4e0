//! Timeout of a call: the tool's limit, and the caller's remaining time.

use std::time::Duration;

use quillet_core::tool::{ToolContext, ToolError, ToolErrorKind};

/// A tool stops a little before its caller's deadline, so that the caller still receives the error.
const MARGIN: Duration = Duration::from_millis(20);

/// Maximum duration of one call.
#[derive(Clone, Debug)]
pub(crate) struct CallTimeout {
    pub(crate) time: Duration,
    /// Setting of the limit, for messages.
    pub(crate) setting: &'static str,
}

impl CallTimeout {
    /// Remaining time for this caller.
    pub(crate) fn remaining(&self, context: &ToolContext) -> Duration {
        // The margin is added before it is subtracted, so that a caller without a deadline gets the
        // full time.
        context.remaining(self.time + MARGIN).saturating_sub(MARGIN)
    }

    /// Awaits an answer within the remaining time.
    pub(crate) async fn run<T>(
        &self,
        tool: &str,
        left: Duration,
        answer: impl Future<Output = Result<T, ToolError>>,
    ) -> Result<T, ToolError> {
        let answer = tokio::time::timeout(left, answer).await;
        answer.unwrap_or_else(|_| Err(self.timeout_error(tool, left)))
    }

    fn timeout_error(&self, tool: &str, left: Duration) -> ToolError {
        // The message names the setting only if the setting was the limit; otherwise raising it
        // would not help.
        let message = if left < self.time {
            format!("{tool}: no answer in the {left:?} that the caller had left")
        } else {
            format!("{tool}: no answer within {left:?} ({})", self.setting)
        };
        ToolError::new(ToolErrorKind::Timeout, message)
    }
}
