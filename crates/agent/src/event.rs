//! Events of a run.

use std::time::Duration;

use quillet_core::chat::{FinishReason, ModelError, Usage};
use quillet_core::{ErrorCode, Message, Value};
use serde::{Deserialize, Serialize};
use serde_json::Map;

/// An event of a run. The last event is always [`AgentEvent::Ended`].
#[derive(Clone, Debug)]
pub enum AgentEvent {
    /// Text delta.
    Text(String),
    /// Delta of the model's visible reasoning.
    Reasoning(String),
    /// The conversation was compacted before a model call.
    Compacted(CompactionReport),
    /// A tool call has started.
    ToolStarted {
        /// The provider's id of the call.
        id: String,
        /// The tool.
        name: String,
        /// The arguments; empty if they cannot be parsed.
        input: Map<String, serde_json::Value>,
    },
    /// A call has ended; exactly one for each that started.
    ToolDone {
        /// The provider's id of the call.
        id: String,
        /// The tool.
        name: String,
        /// The full result.
        output: Value,
        /// The result as the model reads it.
        for_model: String,
        /// Error code of a failure.
        error: Option<String>,
        /// Duration.
        took: Duration,
        /// Sources of the result.
        sources: Vec<Citation>,
    },
    /// The model calls a tool of the client. The run ends, so that the client can make the call.
    CallRequired {
        /// The provider's id of the call.
        id: String,
        /// The tool.
        name: String,
        /// The arguments.
        input: Map<String, serde_json::Value>,
    },
    /// A call needs approval. The run ends, and can be resumed after the decision.
    ApprovalRequired {
        /// The provider's id of the call.
        id: String,
        /// The tool.
        name: String,
        /// The arguments.
        input: Map<String, serde_json::Value>,
        /// Reason in one word.
        why: &'static str,
    },
    /// The run was resumed. This crate does not send this event itself.
    Resumed {
        /// Text before the resume. Later text starts over.
        text: String,
    },
    /// The limit on rounds is reached, and the model is called for its final answer.
    ToolLimitReached {
        /// Number of rounds.
        rounds: u32,
    },
    /// A skill was loaded; its tools are available from the next model call on.
    SkillLoaded {
        /// Its name.
        name: String,
    },
    /// The run has ended.
    Ended(Box<AgentOutcome>),
}

/// A source of an answer, such as a document or a web page.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Citation {
    /// Its number in the answer, from 1.
    #[serde(default)]
    pub index: u64,
    /// Title.
    #[serde(default)]
    pub title: String,
    /// Id of its collection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kb_id: Option<serde_json::Value>,
    /// Its URL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Excerpt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snippet: Option<String>,
}

/// Report of a compaction.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CompactionReport {
    /// Tokens before.
    pub tokens_before: u64,
    /// Tokens after.
    pub tokens_after: u64,
    /// Target in tokens.
    pub target: u64,
    /// Number of removed messages.
    pub removed_messages: u64,
    /// Number of shortened messages.
    pub cut_messages: u64,
    /// Number of removed attachment characters.
    pub cut_attachment_characters: u64,
    /// Whether the removed messages were replaced with a summary.
    pub summarized: bool,
    /// Applied strategies in order: `attachments`, `middle`, `tokens`, `summary`.
    pub strategies: Vec<&'static str>,
}

/// Outcome of a run.
#[derive(Clone, Debug)]
pub struct AgentOutcome {
    /// End reason.
    pub ending: EndReason,
    /// All text of the run.
    pub text: String,
    /// All visible reasoning.
    pub reasoning: String,
    /// New messages of the run, in order: turns of the model and results of its calls. Every call
    /// has a result, even after a cancellation, except calls that the client executes
    /// ([`EndReason::CallsRequired`]) and calls with pending approvals.
    pub messages: Vec<Message>,
    /// Total usage of the model calls; `None` if no provider reported it.
    pub usage: Option<Usage>,
    /// Number of model calls.
    pub model_calls: u32,
    /// Number of rounds with tool calls.
    pub rounds: u32,
    /// Whether the limit on rounds was reached.
    pub tool_limit_reached: bool,
    /// Loaded skills.
    pub loaded_skills: Vec<String>,
    /// Sources of the answer, without duplicates.
    pub sources: Vec<Citation>,
}

/// End reason of a run.
#[derive(Clone, Debug)]
pub enum EndReason {
    /// The model finished its answer, or reached its own limit.
    Finished(FinishReason),
    /// The model repeated the same calls with the same results. It got a notice and one last turn
    /// without calls ([`crate::RunLimits::repeated_calls`]).
    Repeated {
        /// Number of repetitions.
        times: u32,
    },
    /// The client must make calls.
    CallsRequired,
    /// Calls are pending approval; see [`crate::Approver`].
    ApprovalRequired,
    /// The model ended silently (`silent_exit`).
    Silent {
        /// The model's reason.
        reason: String,
    },
    /// The run was cancelled.
    Cancelled,
    /// The run failed.
    Failed(AgentError),
}

/// Error of a failed run.
#[derive(Clone, Debug, thiserror::Error)]
pub enum AgentError {
    /// The model call failed.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The conversation cannot be cut to fit the model's window.
    #[error(
        "{needed} tokens exceed the context window of {window} tokens, and nothing more can be removed: {what}"
    )]
    Window {
        /// Required tokens.
        needed: u64,
        /// Available tokens.
        window: u64,
        /// Description of the parts that cannot be cut.
        what: String,
    },
    /// The run could not start: a prerequisite is invalid or missing.
    #[error("{message}")]
    Setup {
        /// Stable code, as in events.
        code: ErrorCode,
        /// The problem and its fix.
        message: String,
    },
    /// The run exceeded its timeout.
    #[error("the run took longer than the limit on run_time ({0:?})")]
    Time(Duration),
}

impl AgentError {
    /// Code of the underlying error, which determines the exit code.
    #[must_use]
    pub fn root_code(&self) -> ErrorCode {
        match self {
            AgentError::Model(error) => error.kind.code(),
            AgentError::Window { .. } => ErrorCode::ModelContextLength,
            AgentError::Setup { code, .. } => *code,
            AgentError::Time(_) => ErrorCode::ModelTimeout,
        }
    }

    /// Stable code, as in events.
    ///
    /// ```
    /// use quillet_agent::AgentError;
    /// use quillet_core::ErrorCode;
    /// use std::time::Duration;
    ///
    /// let error = AgentError::Time(Duration::from_secs(60));
    /// assert_eq!(error.code(), ErrorCode::RunTimeout);
    /// ```
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        match self {
            AgentError::Model(error) => error.kind.event_code(),
            AgentError::Window { .. } => ErrorCode::RunContextLength,
            AgentError::Setup { code, .. } => *code,
            AgentError::Time(_) => ErrorCode::RunTimeout,
        }
    }
}
