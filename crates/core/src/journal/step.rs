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
    /// The run was accepted, with the request in the form that its executor reads again.
    Admitted {
        /// The request.
        request: Json,
    },
    /// The setup of the run is complete and does not change from here on.
    Prepared {
        /// Prompt, history, question and options.
        setup: Json,
    },
    /// A script has read another script or a file next to it, and keeps this content.
    Read {
        /// The name that it was found by, and the script that named it.
        name: String,
        /// What it is called where it is from.
        source: String,
        /// Where its file is, if it has one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        path: Option<String>,
        /// Its text; its bytes in base64 if it is no script.
        text: String,
    },
    /// The model is about to be asked.
    Asked {
        /// Which question of the run, from 1.
        turn: u32,
        /// SHA-256 of the request, in hexadecimal digits.
        digest: String,
        /// Where in a script, whose questions have no order of their own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        place: Option<String>,
    },
    /// The model has answered completely.
    Answered {
        /// Which question.
        turn: u32,
        /// Every event of the answer, as it came.
        events: Vec<ChatEvent>,
    },
    /// The model did not answer, or not completely.
    Unanswered {
        /// Which question.
        turn: u32,
        /// What kind of failure it was.
        kind: ModelErrorKind,
        /// The cause.
        message: String,
    },
    /// A tool is about to be called.
    Called {
        /// The call's id, of which there is one in a run.
        call: Arc<str>,
        /// The tool.
        tool: Arc<str>,
        /// Its arguments, as they are sent.
        arguments: Map<String, Json>,
        /// Whether the call may be repeated.
        repeat: Idempotency,
    },
    /// The tool has answered, or failed.
    Returned {
        /// The call.
        call: Arc<str>,
        /// What it gave.
        result: Result<RecordedOutput, RecordedFailure>,
    },
    /// Calls wait for approval. The run is not in memory meanwhile.
    Parked {
        /// All of them.
        waiting: Vec<PendingApproval>,
    },
    /// A person has decided about a call.
    Decided {
        /// The call.
        call: Arc<str>,
        /// What.
        decision: Decision,
        /// Who: a key's name, or where it came from.
        by: Arc<str>,
    },
    /// Another process has taken over the run.
    TakenOver {
        /// Which one.
        by: Arc<str>,
    },
    /// The run is over.
    Ended {
        /// How, in a word: `done`, `cancelled`, `error`.
        how: Arc<str>,
        /// What is to be said of it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
        /// What it said.
        text: String,
    },
}

impl JournalEvent {
    /// Its name, as it is written.
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
    /// What the tool gave, as JSON text: numbers keep their digits.
    pub value: String,
    /// Pictures that belong to it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<MediaUrl>,
}

/// The failure of a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedFailure {
    /// What kind of failure it was.
    pub kind: ToolErrorKind,
    /// The cause, for the operator.
    pub message: String,
    /// What the model reads about it.
    pub for_model: String,
}

/// A call that waits for approval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingApproval {
    /// The call's id.
    pub call: Arc<str>,
    /// The tool.
    pub tool: Arc<str>,
    /// The arguments, as the model wrote them.
    pub arguments: Map<String, Json>,
    /// Why it waits.
    pub why: ApprovalReason,
    /// When the call is denied without a decision, in milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_ms: Option<u64>,
}

/// Why a call waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalReason {
    /// A permission rule requires approval.
    Permission,
    /// The process ended during the call. The outcome is unknown, and the call must not be
    /// repeated.
    Unknown,
}

/// Where a run stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// Its owner is executing it.
    #[default]
    Running,
    /// It waits for approval.
    Waiting,
    /// A decision was made; the next claim resumes the run.
    Ready,
    /// It is over.
    Ended,
}

impl RunState {
    /// Its name, as it is written.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            RunState::Running => "running",
            RunState::Waiting => "waiting",
            RunState::Ready => "ready",
            RunState::Ended => "ended",
        }
    }

    /// The state of this name.
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
