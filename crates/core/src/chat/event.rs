//! Events of a streamed answer, in a form common to all providers.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Usage;
use crate::message::NativeTurn;

/// One event of a streamed answer. In JSON, for recordings:
/// `{"type": "text", "choice": 0, "text": …}`.
///
/// # Examples
///
/// ```
/// use quillet_core::chat::ChatEvent;
///
/// let event = ChatEvent::Text { choice: 0, text: "Hi".into() };
/// let json = serde_json::to_string(&event)?;
/// assert_eq!(json, r#"{"type":"text","choice":0,"text":"Hi"}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ChatEvent {
    /// The provider has begun to answer. Always the first event.
    Start {
        /// The provider's id of this answer.
        id: String,
        /// The model that answers.
        model: String,
        /// Seconds since 1970.
        created: u64,
    },
    /// Text delta.
    Text {
        /// Index among the `n` answers, from 0.
        choice: u32,
        /// The delta.
        text: String,
    },
    /// Delta of the model's visible reasoning.
    Reasoning {
        /// Index among the `n` answers, from 0.
        choice: u32,
        /// The delta.
        text: String,
    },
    /// Delta of a refusal text.
    Refusal {
        /// Index among the `n` answers, from 0.
        choice: u32,
        /// The delta.
        text: String,
    },
    /// Delta of a tool call.
    ToolCall {
        /// Index among the `n` answers, from 0.
        choice: u32,
        /// Index among the calls of that answer, from 0.
        index: u32,
        /// The call's id, in its first delta. If the provider does not send one, the adapter
        /// generates it: `call_` and 24 hexadecimal digits.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<String>,
        /// The tool's name, in its first delta.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// Delta of the arguments' JSON text.
        arguments: String,
    },
    /// The turn in the provider's own format, if text and calls alone would lose information
    /// (signatures, encrypted reasoning, the order of blocks). Sent once per answer, before
    /// [`ChatEvent::Finish`].
    Native {
        /// Index among the `n` answers, from 0.
        choice: u32,
        /// The turn.
        turn: NativeTurn,
    },
    /// An answer is complete.
    Finish {
        /// Index among the `n` answers, from 0.
        choice: u32,
        /// Finish reason.
        reason: FinishReason,
        /// Finish reason in the provider's own term.
        raw: String,
    },
    /// Token usage so far. Only the last such event counts.
    Usage(Usage),
}

/// Finish reason of an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FinishReason {
    /// The model finished, or reached a stop sequence.
    #[default]
    Stop,
    /// The model calls tools.
    ToolCalls,
    /// The token limit was reached. The last tool call may be truncated.
    Length,
    /// The provider's content filter stopped the answer.
    ContentFilter,
    /// The model refused.
    Refusal,
    /// The provider paused a long turn; sending the conversation again resumes it.
    Pause,
    /// The provider reported a failed turn.
    Error,
}

impl FinishReason {
    /// Name of the reason, which is the name in OpenAI's Chat API if there is one.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            FinishReason::Stop => "stop",
            FinishReason::ToolCalls => "tool_calls",
            FinishReason::Length => "length",
            FinishReason::ContentFilter => "content_filter",
            FinishReason::Refusal => "refusal",
            FinishReason::Pause => "pause",
            FinishReason::Error => "error",
        }
    }
}

/// Error of an incomplete answer, which must not be executed, evaluated, parsed as a value or
/// stored as a summary. The reason is `None` if the stream had no finish reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.text())]
pub struct IncompleteReply(pub Option<FinishReason>);

impl IncompleteReply {
    fn text(self) -> &'static str {
        match self.0 {
            Some(FinishReason::Length) => {
                "the answer was cut by the token limit: raise max_tokens or ask for less"
            }
            Some(FinishReason::ContentFilter) => {
                "the answer was cut by the provider's content filter"
            }
            Some(FinishReason::Refusal) => "the model refused to answer",
            Some(FinishReason::Pause) => "the provider paused in the middle of the answer",
            Some(FinishReason::Error) => "the provider reported a failed answer",
            Some(FinishReason::Stop | FinishReason::ToolCalls) | None => {
                "the answer ended without a finish reason"
            }
        }
    }
}

impl FinishReason {
    /// Checks that the answer is complete. Incomplete answers may be shown, but must not be
    /// executed or evaluated.
    ///
    /// # Errors
    /// The finish reason of the incomplete answer.
    ///
    /// # Examples
    ///
    /// ```
    /// use quillet_core::chat::{FinishReason, IncompleteReply};
    ///
    /// assert_eq!(FinishReason::Stop.ensure_complete(), Ok(()));
    /// let cut = FinishReason::Length.ensure_complete();
    /// assert_eq!(cut, Err(IncompleteReply(Some(FinishReason::Length))));
    /// ```
    pub fn ensure_complete(self) -> Result<(), IncompleteReply> {
        match self {
            FinishReason::Stop | FinishReason::ToolCalls => Ok(()),
            other => Err(IncompleteReply(Some(other))),
        }
    }
}

impl fmt::Display for FinishReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
