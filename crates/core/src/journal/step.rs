//! Events in the journal of a run.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::Decision;
use crate::MediaUrl;
use crate::chat::{ChatEvent, ModelErrorKind};
use crate::tool::{Idempotency, ToolErrorKind};

/// An event of a durable run. In JSON `{"step": "called", …}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "snake_case")]
pub enum JournalEvent {
    /// The run was admitted. The event contains the request in the executor's format.
    Admitted {
        /// The request.
        request: Json,
    },
    /// The setup of the run is complete and does not change any more.
    Prepared {
        /// Prompt, history, question and options.
        setup: Json,
    },
    /// A script has read another script or a file. A replay uses this content.
    Read {
        /// Name of the file, with the script that refers to it.
        name: String,
        /// Name of the source within its library.
        source: String,
        /// Path of the file, if it has one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        path: Option<String>,
        /// Text of a script; other files as base64.
        text: String,
    },
    /// A model call is about to start.
    Asked {
        /// Number of the model call in the run, from 1.
        turn: u32,
        /// SHA-256 of the request, in hexadecimal digits.
        digest: String,
        /// Position within a script, whose model calls have no fixed order.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        place: Option<String>,
    },
    /// The model call has a complete answer.
    Answered {
        /// Number of the model call.
        turn: u32,
        /// All events of the answer, unchanged.
        events: Vec<ChatEvent>,
    },
    /// The model call failed, or its answer is incomplete.
    Unanswered {
        /// Number of the model call.
        turn: u32,
        /// Kind of the failure.
        kind: ModelErrorKind,
        /// The cause.
        message: String,
    },
    /// A tool call is about to start.
    Called {
        /// Id of the call, unique within the run.
        call: Arc<str>,
        /// The tool.
        tool: Arc<str>,
        /// Arguments as sent.
        arguments: Map<String, Json>,
        /// Whether the call may be repeated.
        repeat: Idempotency,
    },
    /// A tool call has ended, with a result or an error.
    Returned {
        /// The call.
        call: Arc<str>,
        /// The result or the error.
        result: Result<RecordedOutput, RecordedFailure>,
    },
    /// The run is waiting for approvals. It is not in memory meanwhile.
    Parked {
        /// All pending calls.
        waiting: Vec<PendingApproval>,
    },
    /// A person has decided about a call.
    Decided {
        /// The call.
        call: Arc<str>,
        /// The decision.
        decision: Decision,
        /// Name of the person's key, or the origin of the decision.
        by: Arc<str>,
    },
    /// Another process has taken over the run.
    TakenOver {
        /// Name of that process.
        by: Arc<str>,
    },
    /// The run has ended.
    Ended {
        /// Outcome in one word: `done`, `cancelled`, `error`.
        how: Arc<str>,
        /// Error message, if any.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
        /// Text of the answer.
        text: String,
    },
}

impl JournalEvent {
    /// Name in the journal.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            JournalEvent::Admitted { .. } => "admitted",
            JournalEvent::Prepared { .. } => "prepared",
            JournalEvent::Read { .. } => "read",
            JournalEvent::Asked { .. } => "asked",
            JournalEvent::Answered { .. } => "answered",
            JournalEvent::Unanswered { .. } => "unanswered",
            JournalEvent::Called { .. } => "called",
            JournalEvent::Returned { .. } => "returned",
            JournalEvent::Parked { .. } => "parked",
            JournalEvent::Decided { .. } => "decided",
            JournalEvent::TakenOver { .. } => "taken_over",
            JournalEvent::Ended { .. } => "ended",
        }
    }
}

/// The result of a call.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RecordedOutput {
    /// The result as JSON text, so that numbers retain their digits.
    pub value: String,
    /// Images that belong to the result.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<MediaUrl>,
}

/// The failure of a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedFailure {
    /// Kind of the failure.
    pub kind: ToolErrorKind,
    /// The cause, for the operator.
    pub message: String,
    /// Message for the model.
    pub for_model: String,
}

/// A call with a pending approval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingApproval {
    /// The call's id.
    pub call: Arc<str>,
    /// The tool.
    pub tool: Arc<str>,
    /// Arguments as written by the model.
    pub arguments: Map<String, Json>,
    /// Reason for the approval.
    pub why: ApprovalReason,
    /// Time at which the call is denied without a decision, in milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_ms: Option<u64>,
}

/// Reason why a call needs approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalReason {
    /// A permission rule requires approval.
    Permission,
    /// The process ended during the call. The outcome is unknown, and the call must not be
    /// repeated.
    Unknown,
}

/// State of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// Its owner is executing it.
    #[default]
    Running,
    /// It is waiting for approval.
    Waiting,
    /// A decision was made; the next claim resumes the run.
    Ready,
    /// It has ended.
    Ended,
}

impl RunState {
    /// Returns the name used in journals.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            RunState::Running => "running",
            RunState::Waiting => "waiting",
            RunState::Ready => "ready",
            RunState::Ended => "ended",
        }
    }

    /// Returns the state with this name.
    ///
    /// # Examples
    ///
    /// ```
    /// use quillet_core::journal::RunState;
    ///
    /// assert_eq!(RunState::from_name("waiting"), Some(RunState::Waiting));
    /// assert_eq!(RunState::from_name("paused"), None);
    /// ```
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        let all = [
            RunState::Running,
            RunState::Waiting,
            RunState::Ready,
            RunState::Ended,
        ];
        all.into_iter().find(|state| state.as_str() == name)
    }
}

/// State of a run and its pending approvals.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunSnapshot {
    /// The state.
    pub state: RunState,
    /// Pending approvals.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waiting: Vec<PendingApproval>,
}

impl RunSnapshot {
    /// Creates a snapshot without pending approvals.
    #[must_use]
    pub fn at(state: RunState) -> Self {
        RunSnapshot {
            state,
            waiting: Vec::new(),
        }
    }
}
