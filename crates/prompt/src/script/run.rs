//! Trait of script runners: a job in, events out.

use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};

use futures_util::Stream;
use quillet_core::chat::{ChatOptions, ModelError, ModelErrorKind, Usage};
use quillet_core::constraint::EnforcedConstraint;
use quillet_core::{Diagnostic, Map, Message, Value};

use super::stored::StoredScript;
use crate::error::ServiceError;
use crate::snapshot::CatalogueSnapshot;

/// Maximum nesting of prompts and scripts. Calls between scripts are limited by the runner.
const MOST_DEPTH: usize = 16;

/// Runs stored scripts.
pub trait ScriptRunner: Send + Sync + fmt::Debug {
    /// Runs a script. The run starts when the stream is first polled and is cancelled when the
    /// stream is dropped. The last event is [`ScriptEvent::Ended`] or an error.
    fn run(&self, job: ScriptJob) -> ScriptStream;
}

/// One run of a stored script.
#[derive(Clone, Debug)]
pub struct ScriptJob {
    /// The id of the script.
    pub id: Arc<str>,
    /// The script.
    pub script: StoredScript,
    /// Definitions that are visible to the run.
    pub snapshot: Arc<CatalogueSnapshot>,
    /// Arguments by name.
    pub arguments: Map,
    /// The user's message. It is used as the first input, or else as a message.
    pub question: Option<String>,
    /// The conversation before the question.
    pub history: Vec<Message>,
    /// Model named by the request, if any.
    pub model: Option<String>,
    /// Model options of the request.
    pub options: ChatOptions,
    /// Whether the caller streams the response.
    pub stream: bool,
    /// Whether to only report the requests that the script would make.
    pub dry: bool,
    /// Nesting depth of prompts and scripts in this service.
    pub depth: usize,
    /// Id of the request, for logs.
    pub request_id: String,
}

/// Runner of a service's scripts, once it is set.
#[derive(Debug, Default)]
pub(crate) struct Scripts(OnceLock<Arc<dyn ScriptRunner>>);

impl Scripts {
    /// Sets the runner, unless one is already set.
    pub(crate) fn run_with(&self, runner: Arc<dyn ScriptRunner>) {
        // A second runner is ignored, because running scripts use the first.
        let _ = self.0.set(runner);
    }

    /// Runs a script.
    ///
    /// # Errors
    /// No runner is set, or prompts and scripts are nested too deeply.
    pub(crate) fn run(&self, job: ScriptJob) -> Result<ScriptStream, ServiceError> {
        // Without a limit, prompts and scripts that call each other would never end.
        if job.depth >= MOST_DEPTH {
            let id = job.id.to_string();
            let most = MOST_DEPTH;
            return Err(ServiceError::Depth { id, most });
        }
        match self.0.get() {
            Some(runner) => Ok(runner.run(job)),
            None => {
                let message = "no script runner is configured";
                Err(ModelError::new(ModelErrorKind::Configuration, message).into())
            }
        }
    }
}

/// The events of a running script.
pub type ScriptStream = Pin<Box<dyn Stream<Item = Result<ScriptEvent, ServiceError>> + Send>>;

/// An event of a running script.
#[derive(Clone, Debug, PartialEq)]
pub enum ScriptEvent {
    /// A piece of the result's text. All pieces together are a prefix of the result.
    Text(String),
    /// A piece of the model's visible reasoning.
    Reasoning(String),
    /// A piece of intermediate model output that is not part of the result.
    Said {
        /// The role of the output.
        role: String,
        /// The piece.
        text: String,
    },
    /// A line that the script prints.
    Printed(String),
    /// A tool is called.
    ToolCall {
        /// Its name.
        name: String,
        /// Its arguments.
        arguments: Value,
    },
    /// A tool call has ended.
    ToolResult {
        /// Its name.
        name: String,
        /// The result, or the error message.
        result: Result<Value, String>,
    },
    /// A request to a model: the messages.
    Request(Vec<Message>),
    /// A warning for the author.
    Warning(Diagnostic),
    /// The script ended successfully.
    Ended(Box<StoredScriptOutcome>),
}

/// The result of a script's run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StoredScriptOutcome {
    /// The result; null if the script has none.
    pub value: Value,
    /// Tokens of all model calls.
    pub usage: Usage,
    /// Number of model calls.
    pub model_calls: u64,
    /// Methods used to enforce the output schemas, in order.
    pub enforced: Vec<EnforcedConstraint>,
    /// Warnings for the author.
    pub warnings: Vec<Diagnostic>,
}

impl StoredScriptOutcome {
    /// Returns the result as text. Strings are returned unchanged, other values as JSON.
    #[must_use]
    pub fn text(&self) -> String {
        match &self.value {
            Value::Null => String::new(),
            Value::Str(text) => text.to_string(),
            other => quillet_core::json::to_string(other),
        }
    }
}
