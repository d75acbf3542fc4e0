//! What the workflow of a run knows, and what it hands to its activities: plain data.

use std::sync::Arc;
use std::time::Duration;

use quillet_core::history::Digest;
use quillet_core::journal::{Decision, Step, Waiting};
use quillet_core::tool::Repeat;
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
pub enum Kept {
    /// The step itself.
    Here(Step),
    /// Steps on the shelf.
    Away(Away),
}

/// Steps on the shelf.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Away {
    /// What they are known by: the SHA-256 of their JSON.
    pub sha256: Digest,
    /// How many.
    pub steps: usize,
    /// Bytes of their JSON.
    pub bytes: usize,
}

/// How far a run has come.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Course {
    /// The run's whole id, which is the workflow's.
    pub run: String,
    /// Its steps.
    pub kept: Vec<Kept>,
    /// Time without a sign of life after which a worker counts as gone, in milliseconds.
    pub lease_ms: u64,
    /// Its bounds, once it is ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bounds: Option<Bounds>,
}

impl Course {
    /// A run that begins with these steps.
    #[must_use]
    pub fn new(run: String, kept: Vec<Kept>, lease: Duration) -> Self {
        Course {
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
pub struct Bounds {
    /// One call, in milliseconds.
    pub call_ms: u64,
    /// One question, in milliseconds.
    pub ask_ms: u64,
    /// Calls that are made side by side.
    pub places: usize,
}

impl Bounds {
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
pub struct Came {
    /// The steps so far, where they lie elsewhere now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved: Option<Vec<Kept>>,
    /// What was done.
    pub more: Vec<Kept>,
    /// What comes next.
    pub next: Next,
    /// The run's bounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bounds: Option<Bounds>,
}

/// What has to happen before a run can go on.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Next {
    /// The model is asked.
    Ask,
    /// Calls are made.
    Call(Vec<Need>),
    /// Somebody decides.
    Decide(Vec<Waiting>),
    /// The run is over.
    End(End),
}

impl Next {
    /// The end of a run that was not made ready, whatever was to come next.
    #[must_use]
    pub fn into_end(self) -> End {
        match self {
            Next::End(end) => end,
            _ => End {
                how: "error".into(),
                error: Some("the run was not made ready".to_owned()),
                kept: Vec::new(),
            },
        }
    }
}

/// A call that is to be made, or a question of a script that is to be asked.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Need {
    /// Its id; of a question its place in the script.
    pub call: Arc<str>,
    /// Whether it may be made once more.
    pub repeat: Repeat,
    /// What is written down of it if nobody knows whether it was made.
    pub called: Kept,
}

/// One call of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Calling {
    /// The run.
    pub course: Course,
    /// The call, or the place of the question.
    pub call: Arc<str>,
}

/// How a run ended, and all that it did.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct End {
    /// How, in a word: `done`, `cancelled`, `calls_required`, `error`.
    pub how: Arc<str>,
    /// What is to be said of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Its steps.
    #[serde(default)]
    pub kept: Vec<Kept>,
}

/// A decision about a call.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Deciding {
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
pub struct View {
    /// Calls that wait for somebody.
    pub waiting: Vec<Waiting>,
    /// Its steps so far.
    pub kept: Vec<Kept>,
}
