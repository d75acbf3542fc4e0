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
    /// Runs one. Nothing happens before the stream is polled, and everything ends when it
    /// is dropped. The last event is [`ScriptEvent::Ended`], or a failure.
    fn run(&self, job: ScriptJob) -> ScriptStream;
}

/// One run of a stored script.
#[derive(Clone, Debug)]
pub struct ScriptJob {
    /// The id of the script.
    pub id: Arc<str>,
    /// The script.
    pub script: StoredScript,
    /// Every definition that the run may see.
    pub snapshot: Arc<CatalogueSnapshot>,
    /// Arguments by name.
    pub arguments: Map,
    /// The user's message: the input of index 0, or else a message.
    pub question: Option<String>,
    /// The conversation before that.
    pub history: Vec<Message>,
    /// Model named by the request, if any.
    pub model: Option<String>,
    /// How it is to answer, where the request says so.
    pub options: ChatOptions,
    /// Whether the caller reads the answer as a stream.
    pub stream: bool,
    /// Only reports which requests it would make.
    pub dry: bool,
    /// Nesting depth of prompts and scripts in this service.
    pub depth: usize,
    /// The request that it belongs to, for logs.
    pub request_id: String,
}

/// Runner of a service's scripts, once it is set.
#[derive(Debug, Default)]
pub(crate) struct Scripts(OnceLock<Arc<dyn ScriptRunner>>);

impl Scripts {
    /// Sets the runner; the first one stays.
    pub(crate) fn run_with(&self, runner: Arc<dyn ScriptRunner>) {
        // A second runner is ignored: runs in progress keep using the first.
        let _ = self.0.set(runner);
    }

    /// Runs a script.
    ///
    /// # Errors
    /// There is no runner, or prompts and scripts are nested too deeply.
    pub(crate) fn run(&self, job: ScriptJob) -> Result<ScriptStream, ServiceError> {
        // Prompts and scripts that call each other would otherwise never end.
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
    /// A piece of the result's text. All pieces together are a beginning of it.
    Text(String),
    /// A piece of the model's visible reasoning.
    Reasoning(String),
    /// A piece of what a model says on the way: no part of the result.
    Said {
        /// The role that says it.
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
    /// A call of a tool has ended.
    ToolResult {
        /// Its name.
        name: String,
        /// What it gave, or its failure in words.
        result: Result<Value, String>,
    },
    /// A request to a model: the messages.
    Request(Vec<Message>),
    /// Something that the author should know.
    Warning(Diagnostic),
    /// The script has ended well.
    Ended(Box<StoredScriptOutcome>),
}

/// The result of a script's run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StoredScriptOutcome {
    /// The result; nothing where the script has none.
    pub value: Value,
    /// Tokens of all calls of models.
    pub usage: Usage,
    /// Calls of models.
    pub model_calls: u64,
    /// How the forms of answers were enforced, in order.
    pub enforced: Vec<EnforcedConstraint>,
    /// What the author should know.
    pub warnings: Vec<Diagnostic>,
}

impl StoredScriptOutcome {
    /// The result as text: a text as it is, anything else as JSON.
    #[must_use]
    pub fn text(&self) -> String {
        match &self.value {
            Value::Null => String::new(),
            Value::Str(text) => text.to_string(),
            other => quillet_core::json::to_string(other),
        }
    }
}
