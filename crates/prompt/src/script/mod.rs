//! Scripts among the prompts: how one is stored, and the contract with whoever reads and runs them.
//! The crate of the language stands above this one, so a script is here a front page and something
//! that its runner knows more of.
//!
//! A stored script is the definition `{"format": "script", "source": "…"}`, in which
//! `source` is the text of an `.ai.yaml` file. In a folder it is the file itself.

mod answer;
mod dry;
mod request;

use std::any::Any;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use futures_util::Stream;
use quillet_core::chat::{ChatOptions, ModelError, Usage};
use quillet_core::tool::ToolSpec;
use quillet_core::{Diagnostic, ErrorCode, Map, Message, Value};
use serde::Serialize;
use serde_json::{Map as Object, Value as Tree};

use crate::definition::Checked;
use crate::error::ServiceError;
use crate::snapshot::Snapshot;

pub(crate) use answer::{chat_stream, value};
pub use dry::DryRun;
pub(crate) use dry::dry_run;
pub(crate) use request::job;

/// The format of prompts that are scripts.
pub const SCRIPT_FORMAT: &str = "script";

/// Prompts that call scripts that call prompts: how deep. A script's own calls of
/// scripts are bounded by its runner.
pub(crate) const MOST_DEPTH: usize = 16;

/// A script that can be run.
#[derive(Clone)]
pub struct StoredScript {
    /// Its name as scripts see it: `char/dobby.ai.yaml` for the id `char.dobby`.
    pub name: Arc<str>,
    /// Its text.
    pub text: Arc<str>,
    /// What it is called, if it says so.
    pub title: Option<String>,
    /// What it is and takes. The name in it is not used here.
    pub spec: ToolSpec,
    /// What its reader made of it.
    pub read: Arc<dyn Any + Send + Sync>,
}

impl fmt::Debug for StoredScript {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("StoredScript");
        shown.field("name", &self.name).finish_non_exhaustive()
    }
}

/// Scripts are what their text says.
impl PartialEq for StoredScript {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && self.text == other.text
    }
}

impl Eq for StoredScript {}

/// Reads stored scripts.
pub trait ScriptReader: Send + Sync + fmt::Debug {
    /// Reads a script; findings have their places in `text`.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    fn read(&self, name: &str, text: &Arc<str>) -> Checked<StoredScript>;
}

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
    pub snapshot: Arc<Snapshot>,
    /// What it is given, by name.
    pub arguments: Map,
    /// What the user says: the input of index 0, or else a message.
    pub question: Option<String>,
    /// The conversation before that.
    pub history: Vec<Message>,
    /// The model that answers where the request names one.
    pub model: Option<String>,
    /// How it is to answer, where the request says so.
    pub options: ChatOptions,
    /// Whether somebody reads the answer piece by piece.
    pub stream: bool,
    /// Only reports which requests it would make.
    pub dry: bool,
    /// How many prompts and scripts of this service have called each other so far.
    pub depth: usize,
    /// The request that it belongs to, for logs.
    pub request_id: String,
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
    Ended(Box<ScriptOutcome>),
}

/// The result of a script's run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScriptOutcome {
    /// The result; nothing where the script has none.
    pub value: Value,
    /// Tokens of all calls of models.
    pub usage: Usage,
    /// Calls of models.
    pub model_calls: u64,
    /// How the forms of answers were enforced, in order.
    pub enforced: Vec<Enforced>,
    /// What the author should know.
    pub warnings: Vec<Diagnostic>,
}

impl ScriptOutcome {
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

/// How the form of an answer was enforced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Enforced {
    /// The variable that the answer went to.
    pub variable: String,
    /// The form: `choice`, `schema`, `json`, `yaml`, `nobj`.
    pub constraint: &'static str,
    /// What enforced it: `provider` or `check`.
    pub by: &'static str,
    /// How often the model was asked again.
    pub repairs: u32,
    /// Whether the answer has the form.
    pub kept: bool,
}

/// The error of a script.
#[derive(Clone, Debug)]
pub struct ScriptFailure {
    /// The script that was run.
    pub id: String,
    /// Stable code, such as `script.input`.
    pub code: ErrorCode,
    /// All findings; the first says what ended the run.
    pub diagnostics: Vec<Diagnostic>,
    /// Scripts that were being run, outermost first.
    pub chain: Vec<String>,
    /// The provider's failure, where that was it.
    pub model: Option<ModelError>,
}

impl fmt::Display for ScriptFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "script {:?}: ", self.id)?;
        match self.diagnostics.first() {
            Some(first) => first.fmt(f),
            None => self.code.fmt(f),
        }
    }
}

/// The text that a definition gives as a script's, if it says that it is one; or what it
/// lacks.
pub(crate) fn source(definition: &Object<String, Tree>) -> Option<Result<&str, String>> {
    let format = definition.get("format").and_then(Tree::as_str)?;
    if format != SCRIPT_FORMAT {
        return None;
    }
    let source = definition.get("source").and_then(Tree::as_str);
    let help = "a script needs source, a string with the text of an .ai.yaml file";
    Some(source.ok_or_else(|| help.to_owned()))
}

/// A definition, and the text of the script in it.
pub(crate) type Written = (Object<String, Tree>, Arc<str>);

/// The definition and the text of the script that a stored text holds, if it holds one.
pub(crate) fn script_text(text: &str) -> Option<Result<Written, String>> {
    // Most definitions are no scripts, and need not be read twice for that.
    if !text.contains("\"script\"") {
        return None;
    }
    let definition: Object<String, Tree> = serde_json::from_str(text).ok()?;
    let text = source(&definition)?.map(Arc::from);
    Some(text.map(|text| (definition, text)))
}

/// The text of the script that a stored text holds, whether it can be run or not.
#[must_use]
pub fn script_source(text: &str) -> Option<Arc<str>> {
    let (_, text) = script_text(text)?.ok()?;
    Some(text)
}

/// The definition of a script, as it is stored.
#[must_use]
pub fn script_definition(source: &str) -> String {
    serde_json::json!({"format": SCRIPT_FORMAT, "source": source}).to_string()
}

/// No scripts.
#[derive(Debug)]
pub(crate) struct NoScripts;

impl ScriptReader for NoScripts {
    fn read(&self, name: &str, _: &Arc<str>) -> Checked<StoredScript> {
        let message = "scripts are not read here";
        let found = Diagnostic::error("script.unread", name, message);
        Err(vec![found.help(
            "give the catalogue a reader of scripts: Catalogue::with_scripts",
        )])
    }
}
