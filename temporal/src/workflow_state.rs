//! State of the workflow of a run, and the inputs and results of its activities: plain data.

use std::sync::Arc;
use std::time::Duration;

use quillet_core::history::Digest;
use quillet_core::journal::{Decision, JournalEvent, PendingApproval};
use quillet_core::tool::Idempotency;
use serde::{Deserialize, Serialize};

/// Maximum size in bytes of an event in the workflow state. A larger event is moved to the step
/// store.
pub const STEP_BYTES: usize = 16 << 10;
/// Maximum total size in bytes of all events in the workflow state. If they are larger, they are
/// moved to the step store. The state is an input of every activity, so each activity adds the
/// state to the workflow history again.
pub const COURSE_BYTES: usize = 64 << 10;
/// Maximum size in bytes of an event that stays in the workflow state because the step store
/// rejected it. Temporal's limit for a payload is 2 MB.
pub const MOST_BYTES: usize = 1 << 20;

/// A journal event, or a reference to stored events.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepRef {
    /// The event itself.
    Here(JournalEvent),
    /// Reference to events in the step store.
    Away(StoredStepRef),
}

/// Reference to events in the step store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredStepRef {
    /// SHA-256 of the events' JSON, which identifies the events.
    pub sha256: Digest,
    /// Number of events.
    pub steps: usize,
    /// Size of the events' JSON in bytes.
    pub bytes: usize,
}

/// State of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkflowState {
    /// Full id of the run, which is also the workflow id.
    pub run: String,
    /// Events of the run.
    pub kept: Vec<StepRef>,
    /// Heartbeat timeout of activities in milliseconds.
    pub lease_ms: u64,
    /// Limits on activities; `None` until the run is prepared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bounds: Option<ActivityLimits>,
}

impl WorkflowState {
    /// Creates the state of a run whose first events are `kept`.
    #[must_use]
    pub fn new(run: String, kept: Vec<StepRef>, lease: Duration) -> Self {
        WorkflowState {
            run,
            kept,
            lease_ms: u64::try_from(lease.as_millis()).unwrap_or(u64::MAX),
            bounds: None,
        }
    }

    /// Returns the heartbeat timeout of activities.
    #[must_use]
    pub fn lease(&self) -> Duration {
        Duration::from_millis(self.lease_ms)
    }
}

/// Limits on the run's activities.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActivityLimits {
    /// Timeout of a tool call in milliseconds.
    pub call_ms: u64,
    /// Timeout of a model call in milliseconds.
    pub ask_ms: u64,
    /// Maximum number of concurrent tool calls.
    pub places: usize,
}

impl ActivityLimits {
    /// Returns the timeout of a tool call.
    #[must_use]
    pub fn call(&self) -> Duration {
        Duration::from_millis(self.call_ms)
    }

    /// Returns the timeout of a model call.
    #[must_use]
    pub fn ask(&self) -> Duration {
        Duration::from_millis(self.ask_ms)
    }
}

/// Result of an activity that advances a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AdvanceResult {
    /// References to all previous events, if the events were moved to the step store.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved: Option<Vec<StepRef>>,
    /// New events.
    pub more: Vec<StepRef>,
    /// Next command.
    pub next: NextCommand,
    /// Limits on the run's activities.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bounds: Option<ActivityLimits>,
}

/// Next action of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NextCommand {
    /// Call the model.
    Ask,
    /// Execute tool calls.
    Call(Vec<ActivityInput>),
    /// Wait for approvals.
    Decide(Vec<PendingApproval>),
    /// End the run.
    End(RunResult),
}

impl NextCommand {
    /// Returns the result of a run that could not be prepared.
    #[must_use]
    pub fn into_end(self) -> RunResult {
        match self {
            NextCommand::End(end) => end,
            _ => RunResult {
                how: "error".into(),
                error: Some("the run was not prepared".to_owned()),
                kept: Vec::new(),
            },
        }
    }
}

/// A pending tool call, or a pending model call of a script.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ActivityInput {
    /// Call id; for a model call, its position in the script.
    pub call: Arc<str>,
    /// Whether the call is safe to repeat.
    pub repeat: Idempotency,
    /// Event to record if the outcome of the call is unknown.
    pub called: StepRef,
}

/// Input of the call activity.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CallInput {
    /// State of the run.
    pub course: WorkflowState,
    /// Call id, or the position of the model call.
    pub call: Arc<str>,
}

/// Result of a run, including all events.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RunResult {
    /// Final state: `done`, `cancelled`, `calls_required` or `error`.
    pub how: Arc<str>,
    /// Error message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Events of the run.
    #[serde(default)]
    pub kept: Vec<StepRef>,
}

/// Decision on a pending approval.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DecisionRequest {
    /// Call id; optional if only one call is pending.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// The decision.
    pub decision: Decision,
    /// Name of the person who decides.
    pub by: String,
}

/// Result of the `view` query.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct WorkflowView {
    /// Pending approvals.
    pub waiting: Vec<PendingApproval>,
    /// Events so far.
    pub kept: Vec<StepRef>,
}
