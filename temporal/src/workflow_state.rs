//! What the workflow of a run knows, and what it hands to its activities: plain data.

use std::sync::Arc;
use std::time::Duration;

use quillet_core::history::Digest;
use quillet_core::journal::{Decision, JournalEvent, PendingApproval};
use quillet_core::tool::Idempotency;
use serde::{Deserialize, Serialize};

/// Bytes of one step that the workflow keeps itself. A larger one goes to the shelf.
pub const STEP_BYTES: usize = 16 << 10;
/// Bytes of all steps that the workflow keeps itself. They travel with every activity, and so into
/// the workflow's history each time; when there are more, they go to the shelf.
pub const COURSE_BYTES: usize = 64 << 10;
/// Bytes that Temporal takes at once: its own limit is 2 MB. A step that the shelf does not take is
/// kept by the workflow up to this size.
pub const MOST_BYTES: usize = 1 << 20;

/// A step, or where it lies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepRef {
    /// The step itself.
    Here(JournalEvent),
    /// Steps on the shelf.
    Away(StoredStepRef),
}

/// Steps on the shelf.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredStepRef {
    /// What they are known by: the SHA-256 of their JSON.
    pub sha256: Digest,
    /// How many.
    pub steps: usize,
    /// Bytes of their JSON.
    pub bytes: usize,
}

/// How far a run has come.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkflowState {
    /// The run's whole id, which is the workflow's.
    pub run: String,
    /// Its steps.
    pub kept: Vec<StepRef>,
    /// Time without a sign of life after which a worker counts as gone, in milliseconds.
    pub lease_ms: u64,
    /// Its bounds, once it is ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bounds: Option<ActivityLimits>,
}

impl WorkflowState {
    /// A run that begins with these steps.
    #[must_use]
    pub fn new(run: String, kept: Vec<StepRef>, lease: Duration) -> Self {
        WorkflowState {
            run,
            kept,
            lease_ms: u64::try_from(lease.as_millis()).unwrap_or(u64::MAX),
            bounds: None,
        }
    }

    /// Time without a sign of life after which a worker counts as gone.
    #[must_use]
    pub fn lease(&self) -> Duration {
        Duration::from_millis(self.lease_ms)
    }
}

/// How long the run's activities may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActivityLimits {
    /// One call, in milliseconds.
    pub call_ms: u64,
    /// One question, in milliseconds.
    pub ask_ms: u64,
    /// Calls that are made side by side.
    pub places: usize,
}

impl ActivityLimits {
    /// One call.
    #[must_use]
    pub fn call(&self) -> Duration {
        Duration::from_millis(self.call_ms)
    }

    /// One question.
    #[must_use]
    pub fn ask(&self) -> Duration {
        Duration::from_millis(self.ask_ms)
    }
}

/// What came of an activity that goes on with a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AdvanceResult {
    /// The steps so far, where they lie elsewhere now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved: Option<Vec<StepRef>>,
    /// What was done.
    pub more: Vec<StepRef>,
    /// What comes next.
    pub next: NextCommand,
    /// The run's bounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bounds: Option<ActivityLimits>,
}

/// What has to happen before a run can go on.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NextCommand {
    /// The model is asked.
    Ask,
    /// Calls are made.
    Call(Vec<ActivityInput>),
    /// Somebody decides.
    Decide(Vec<PendingApproval>),
    /// The run is over.
    End(RunResult),
}

impl NextCommand {
    /// The end of a run that was not made ready, whatever was to come next.
    #[must_use]
    pub fn into_end(self) -> RunResult {
        match self {
            NextCommand::End(end) => end,
            _ => RunResult {
                how: "error".into(),
                error: Some("the run was not made ready".to_owned()),
                kept: Vec::new(),
            },
        }
    }
}

/// A call that is to be made, or a question of a script that is to be asked.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ActivityInput {
    /// Its id; of a question its place in the script.
    pub call: Arc<str>,
    /// Whether it may be made once more.
    pub repeat: Idempotency,
    /// What is written down of it if nobody knows whether it was made.
    pub called: StepRef,
}

/// One call of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CallInput {
    /// The run.
    pub course: WorkflowState,
    /// The call, or the place of the question.
    pub call: Arc<str>,
}

/// How a run ended, and all that it did.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RunResult {
    /// How, in a word: `done`, `cancelled`, `calls_required`, `error`.
    pub how: Arc<str>,
    /// What is to be said of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Its steps.
    #[serde(default)]
    pub kept: Vec<StepRef>,
}

/// A decision about a call.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DecisionRequest {
    /// The call's id; may be missing where one call waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// What.
    pub decision: Decision,
    /// Who decides.
    pub by: String,
}

/// A run, for whoever looks.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct WorkflowView {
    /// Calls that wait for somebody.
    pub waiting: Vec<PendingApproval>,
    /// Its steps so far.
    pub kept: Vec<StepRef>,
}
