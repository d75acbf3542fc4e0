//! What a run reports, from its first word to how it ended.

use std::time::Duration;

use quillet_core::chat::{FinishReason, ModelError, Usage};
use quillet_core::{ErrorCode, Message, Value};
use serde::{Deserialize, Serialize};
use serde_json::Map;

/// One event of a run. The last one is always [`AgentEvent::Ended`].
#[derive(Clone, Debug)]
pub enum AgentEvent {
    /// A piece of text.
    Text(String),
    /// A piece of the model's visible reasoning.
    Reasoning(String),
    /// The conversation was cut to fit the model's window, before a call.
    Compacted(CompactionReport),
    /// A tool is being called.
    ToolStarted {
        /// The provider's id of the call.
        id: String,
        /// The tool.
        name: String,
        /// The arguments; empty where the model wrote none that can be read.
        input: Map<String, serde_json::Value>,
    },
    /// A call has ended; there is one for each that started.
    ToolDone {
        /// The provider's id of the call.
        id: String,
        /// The tool.
        name: String,
        /// What it gave, before it was cut for the model.
        output: Value,
        /// What the model reads of it.
        for_model: String,
        /// Why it failed.
        error: Option<String>,
        /// How long it took.
        took: Duration,
        /// Where its answer is from.
        sources: Vec<Citation>,
    },
    /// The model wants a tool of the client called; the run ends so that it can.
    CallRequired {
        /// The provider's id of the call.
        id: String,
        /// The tool.
        name: String,
        /// The arguments.
        input: Map<String, serde_json::Value>,
    },
    /// A call is not made before somebody has decided about it. The run ends, so that it can go on
    /// when that has happened.
    ApprovalRequired {
        /// The provider's id of the call.
        id: String,
        /// The tool.
        name: String,
        /// The arguments.
        input: Map<String, serde_json::Value>,
        /// Why, in a word.
        why: &'static str,
    },
    /// The run went on where another one stopped; no run of this crate says so by itself.
    Resumed {
        /// All that was said until here. What came beyond it does not count.
        text: String,
    },
    /// The rounds of calls are used up; the model is asked for its final answer.
    ToolLimitReached {
        /// How many rounds there were.
        rounds: u32,
    },
    /// A skill was loaded; its tools are there from the next call of the model on.
    SkillLoaded {
        /// Its name.
        name: String,
    },
    /// The run is over.
    Ended(Box<AgentOutcome>),
}

/// A source of an answer, such as a document or a page of the web.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Citation {
    /// Its number in the answer, from 1.
    #[serde(default)]
    pub index: u64,
    /// What it is called.
    #[serde(default)]
    pub title: String,
    /// The collection that it is from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kb_id: Option<serde_json::Value>,
    /// Its address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// A piece of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snippet: Option<String>,
}

/// A report of one compaction.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CompactionReport {
    /// Tokens before.
    pub tokens_before: u64,
    /// Tokens after.
    pub tokens_after: u64,
    /// What it was to come down to.
    pub target: u64,
    /// Messages taken out.
    pub removed_messages: u64,
    /// Messages whose text was cut.
    pub cut_messages: u64,
    /// Characters of attachments cut away.
    pub cut_attachment_characters: u64,
    /// Whether the messages taken out were replaced with a summary.
    pub summarized: bool,
    /// What was applied, in order: `attachments`, `middle`, `tokens`, `summary`.
    pub strategies: Vec<&'static str>,
}

/// The outcome of a run: how it ended, and what it leaves.
#[derive(Clone, Debug)]
pub struct AgentOutcome {
    /// How.
    pub ending: EndReason,
    /// All text that was said in the run.
    pub text: String,
    /// All reasoning that was shown.
    pub reasoning: String,
    /// What the conversation got: the model's turns and the results of its calls, in order. Every
    /// call has its result, even after a cancellation; only those that the client is to make
    /// ([`EndReason::CallsRequired`]), or a person is to decide about, are open.
    pub messages: Vec<Message>,
    /// What all calls of the model cost together; `None` if no provider said.
    pub usage: Option<Usage>,
    /// Calls of the model that were made.
    pub model_calls: u32,
    /// Rounds of tool calls.
    pub rounds: u32,
    /// Whether the rounds were used up.
    pub tool_limit_reached: bool,
    /// Skills that are loaded now.
    pub loaded_skills: Vec<String>,
    /// Where the answer is from, each once.
    pub sources: Vec<Citation>,
}

/// How a run ended.
#[derive(Clone, Debug)]
pub enum EndReason {
    /// The model had said what it wanted, or met a limit of its own.
    Finished(FinishReason),
    /// The model went round in circles: it made the same calls with the same results, was given
    /// notice, and had its last turn without calls ([`crate::Limits::repeated_calls`]).
    Repeated {
        /// How often it made them.
        times: u32,
    },
    /// Calls are the client's to make.
    CallsRequired,
    /// Calls wait for a person to decide; see [`crate::Approver`].
    ApprovalRequired,
    /// The model chose to say nothing (`silent_exit`).
    Silent {
        /// Why, in its own words.
        reason: String,
    },
    /// Somebody asked the run to stop.
    Cancelled,
    /// It failed.
    Failed(AgentError),
}

/// The error of a run that failed.
#[derive(Clone, Debug, thiserror::Error)]
pub enum AgentError {
    /// The model did not answer.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The conversation cannot be cut to fit the model's window.
    #[error(
        "{needed} tokens do not fit into the window of {window}, and nothing more can be cut: {what}"
    )]
    Window {
        /// What is needed.
        needed: u64,
        /// What there is.
        window: u64,
        /// What cannot be cut.
        what: String,
    },
    /// It could not begin: what it needs is wrong or not there.
    #[error("{message}")]
    Setup {
        /// Stable code, as in the events.
        code: ErrorCode,
        /// What, and how to fix it.
        message: String,
    },
    /// It took longer than it may.
    #[error("the run took longer than the limit on run_time ({0:?})")]
    Time(Duration),
}

impl AgentError {
    /// The code of what it came from, which has the exit code.
    #[must_use]
    pub fn root_code(&self) -> ErrorCode {
        match self {
            AgentError::Model(error) => error.kind.code(),
            AgentError::Window { .. } => ErrorCode::ModelContextLength,
            AgentError::Setup { code, .. } => *code,
            AgentError::Time(_) => ErrorCode::ModelTimeout,
        }
    }

    /// Stable code, as in the events.
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
