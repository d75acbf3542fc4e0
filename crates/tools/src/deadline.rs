//! How long a call may take: the tool's own limit, and what its caller has left.

use std::time::Duration;

use quillet_core::tool::{ToolContext, ToolError, ToolErrorKind};

/// Callers wait until their deadline; a tool gives up a little earlier, so that its failure is
/// still reported as one.
const MARGIN: Duration = Duration::from_millis(20);

/// The longest that one call of a tool takes.
#[derive(Clone, Debug)]
pub(crate) struct CallTimeout {
    pub(crate) time: Duration,
    /// What sets it, for messages.
    pub(crate) setting: &'static str,
}

impl CallTimeout {
    /// The time that a call of this caller has.
    pub(crate) fn left(&self, context: &ToolContext) -> Duration {
        context.remaining(self.time + MARGIN).saturating_sub(MARGIN)
    }

    /// Waits for an answer no longer than a call of this caller has.
    pub(crate) async fn hold<T>(
        &self,
        tool: &str,
        left: Duration,
        answer: impl Future<Output = Result<T, ToolError>>,
    ) -> Result<T, ToolError> {
        let answer = tokio::time::timeout(left, answer).await;
        answer.unwrap_or_else(|_| Err(self.late(tool, left)))
    }

    fn late(&self, tool: &str, left: Duration) -> ToolError {
        let message = if left < self.time {
            format!("{tool}: no answer in the {left:?} that the caller had left")
        } else {
            format!("{tool}: no answer within {left:?} ({})", self.setting)
        };
        ToolError::new(ToolErrorKind::Timeout, message)
    }
}
