//! Interfaces that a run requires from its host. This module does not depend on a terminal, a
//! server or a provider.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use quillet_core::chat::{ChatModel, ChatRequest, TokenCounter, Usage};
use quillet_core::tool::{Tool, ToolContext, ToolError, ToolErrorKind, ToolSpec};
use quillet_core::web::{WebAnswer, WebRequest};
use quillet_core::{BoxFuture, Diagnostic, Map, Value};

/// Tool name that stands for network access, for example in approval requests.
pub const FETCH: &str = "fetch";

/// Resolves models by name.
pub trait ModelSource: Send + Sync + fmt::Debug {
    /// Returns the model with a name (`gpt-6-sol`, `openai://gpt-6-sol`), or the default model for
    /// `None`.
    ///
    /// # Errors
    /// Returns a message for the script's author that names the available models, if the model is
    /// unknown.
    fn model(&self, name: Option<&str>) -> Result<ModelHandle, String>;

    /// Returns the cost of a model response in US dollars, if the price is known.
    fn cost(&self, _model: &str, _usage: &Usage) -> Option<f64> {
        None
    }
}

/// A model and its capabilities.
#[derive(Clone, Debug)]
pub struct ModelHandle {
    /// The model.
    pub model: Arc<dyn ChatModel>,
    /// The model name to send; `None` for the implementation's default.
    pub name: Option<String>,
    /// Its capabilities.
    pub abilities: ModelCapabilities,
    /// Counts tokens as the model does.
    pub counter: Arc<dyn TokenCounter>,
    /// Size of the context window in tokens (request and response together), if known.
    pub window: Option<u64>,
}

/// Features that a provider supports. For missing features, the engine adds instructions to the
/// prompt and checks answers itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ModelCapabilities {
    /// Supports tool calls.
    pub tools: bool,
    /// Enforces a JSON Schema (`response_format` of type `json_schema`).
    pub json_schema: bool,
    /// Enforces JSON output (`json_object`).
    pub json_object: bool,
    /// Accepts `logit_bias` by token id, and the engine has the tokenizer of the model.
    pub logit_bias: bool,
    /// Continues the text of a final assistant message.
    pub continues: bool,
}

/// Tools that are defined outside of scripts: those of the tool catalogue, of MCP servers, and
/// built-in tools.
pub trait Tools: Send + Sync + fmt::Debug {
    /// Returns the tool with a name.
    fn tool(&self, name: &str) -> Option<Arc<dyn Tool>>;

    /// Returns the names of all tools.
    fn names(&self) -> Vec<String>;

    /// Returns a tool that a dry run may call because it has no external effects, such as a prompt
    /// that is rendered without its own calls. A dry run calls no other tool.
    fn dry(&self, _name: &str) -> Option<Arc<dyn Tool>> {
        None
    }

    /// Returns a tool for calls that need approval (`ask` in a script). By default approval is not
    /// available, and such calls are rejected.
    fn approved_tool(&self, name: &str) -> Option<Arc<dyn Tool>> {
        let inner = self.tool(name)?;
        Some(Arc::new(DeniedTool { inner }))
    }

    /// Returns the network access of `$fetch` for requests that need approval.
    fn approved_network(&self) -> Option<Arc<dyn Network>> {
        self.network()?;
        Some(Arc::new(UnaskedNetwork))
    }

    /// Returns the network access of `$fetch`, if there is one. The permissions of the run decide
    /// whether a script may use it.
    fn network(&self) -> Option<Arc<dyn Network>> {
        None
    }

    /// Returns whether the tool lists of some servers were not requested, as in a dry run.
    fn has_unasked(&self) -> bool {
        false
    }
}

/// HTTP access for scripts, subject to the host's checks.
pub trait Network: Send + Sync + fmt::Debug {
    /// Sends a request.
    ///
    /// # Errors
    /// Returns the reason for a missing or incomplete response, for the script's author. A status
    /// of 400 or above is not an error.
    fn fetch(&self, request: WebRequest) -> BoxFuture<'_, Result<WebAnswer, String>>;
}

fn nobody_to_ask(tool: &str) -> String {
    format!(
        "`{tool}` needs approval (`ask` of the script), which is not available here: run the \
        script durably with `quillet run --durable` or `features.durable`, or at a terminal; a \
        script that calls this one must import it"
    )
}

/// A tool whose calls need approval that is not available.
#[derive(Debug)]
struct DeniedTool {
    inner: Arc<dyn Tool>,
}

impl Tool for DeniedTool {
    fn spec(&self) -> &ToolSpec {
        self.inner.spec()
    }

    fn call<'a>(&'a self, _: Map, _: &'a ToolContext) -> BoxFuture<'a, Result<Value, ToolError>> {
        let message = nobody_to_ask(&self.inner.spec().name);
        Box::pin(std::future::ready(Err(ToolError::new(
            ToolErrorKind::Refused,
            message,
        ))))
    }
}

/// Network access that needs an approval that is not available.
#[derive(Debug)]
struct UnaskedNetwork;

impl Network for UnaskedNetwork {
    fn fetch(&self, _: WebRequest) -> BoxFuture<'_, Result<WebAnswer, String>> {
        Box::pin(std::future::ready(Err(nobody_to_ask(FETCH))))
    }
}

/// Provides no tools.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoTools;

impl Tools for NoTools {
    fn tool(&self, _: &str) -> Option<Arc<dyn Tool>> {
        None
    }

    fn names(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Permissions of a script for external resources. The default grants nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grants {
    /// Folders that `fs`, `file()` and similar functions may read, besides the script's own.
    pub read: Vec<PathBuf>,
    /// Folders that scripts may write to.
    pub write: Vec<PathBuf>,
    /// Whether `url()` and `fetch` may connect. Addresses are checked even if this is set.
    pub net: bool,
    /// Whether functions in other languages may start their interpreter.
    pub run: bool,
    /// Environment variables that scripts can read through `ENV`.
    pub env: Vec<String>,
}

/// Resources that a run may access. This is a single enum, so that a dry run cannot have grants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunAccess {
    /// A dry run without access. It records its requests; it calls no model or tool, reads and
    /// writes no granted file, and starts no process. Each skipped action is reported as a warning
    /// ([`crate::run::DRY_RUN`]).
    Nothing,
    /// Models, tools, and the granted resources.
    Granted(Grants),
    /// Models, tools and the network, whose results the host records. The run can be repeated from
    /// the start with the recorded results, which [`crate::run::call_sequence`] assigns to calls.
    /// Anything else that may change between attempts is fixed or rejected: the clock, random
    /// numbers, timers, files other than scripts, processes, the environment.
    Kept(ReplayAccess),
}

/// Access that a durable run has in addition to its recorded calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReplayAccess {
    /// Whether `url()` and `fetch` may connect.
    pub net: bool,
    /// The start time of the run in milliseconds since 1970. JavaScript's clock advances by one
    /// millisecond each time it is read.
    pub began_ms: u64,
}

impl RunAccess {
    /// Returns whether this is a dry run.
    #[must_use]
    pub fn is_dry(&self) -> bool {
        matches!(self, RunAccess::Nothing)
    }

    /// Returns the access of a durable run, or `None` for other runs.
    #[must_use]
    pub fn replay_access(&self) -> Option<ReplayAccess> {
        match self {
            RunAccess::Kept(kept) => Some(*kept),
            RunAccess::Nothing | RunAccess::Granted(_) => None,
        }
    }

    /// Returns the grants; a dry run has none.
    #[must_use]
    pub fn grants(&self) -> Grants {
        match self {
            RunAccess::Nothing => Grants::default(),
            RunAccess::Granted(grants) => grants.clone(),
            RunAccess::Kept(kept) => Grants {
                net: kept.net,
                ..Grants::default()
            },
        }
    }
}

/// Limits of a run. When a limit is exceeded, the error names it.
#[derive(Clone, Debug, PartialEq)]
pub struct ScriptLimits {
    /// Maximum total number of instructions and loop iterations in all scripts of a run. Default
    /// 1,000,000.
    pub steps: u64,
    /// Maximum depth of scripts that call each other. Default 64.
    pub depth: usize,
    /// Maximum number of model calls in a run. Default 1,000.
    pub model_calls: u64,
    /// Maximum number of tokens in all requests and responses of a run. No limit by default.
    pub tokens: Option<u64>,
    /// Maximum total cost of a run's model calls in US dollars. No limit by default. If set, only
    /// models with a known price are called.
    pub cost: Option<f64>,
    /// Maximum number of messages in a dialogue. Default 100,000.
    pub messages: usize,
    /// Maximum total size of the strings that a run stores, in bytes. Default 256 MiB.
    pub bytes: usize,
    /// Maximum running time, excluding waits for models and tools. Default 30 s.
    pub own_time: Duration,
    /// Maximum running time of one JavaScript call or expression, excluding waits. Default 5 s.
    pub js_time: Duration,
    /// Maximum memory of a run's JavaScript. Default 64 MiB.
    pub js_memory: usize,
    /// Maximum stack size of a run's JavaScript. Default 512 KiB.
    pub js_stack: usize,
    /// Limits of each template in a script.
    pub templates: quillet_template::RenderLimits,
}

impl Default for ScriptLimits {
    fn default() -> Self {
        ScriptLimits {
            steps: 1_000_000,
            depth: 64,
            model_calls: 1_000,
            tokens: None,
            cost: None,
            messages: 100_000,
            bytes: 256 << 20,
            own_time: Duration::from_secs(30),
            js_time: Duration::from_secs(5),
            js_memory: 64 << 20,
            js_stack: 512 << 10,
            templates: quillet_template::RenderLimits::default(),
        }
    }
}

/// An event of a running script. Events arrive in order.
#[derive(Clone, Debug)]
pub enum RunEvent {
    /// `$print`: a line for standard output.
    Printed(String),
    /// A complete message after the hidden prefix.
    Message {
        /// Its role.
        role: String,
        /// Its text.
        content: String,
    },
    /// A delta of the model's answer.
    Delta {
        /// The role that answers.
        role: String,
        /// The text.
        text: String,
        /// Whether the text is a literal part of the script's result: it belongs to the last answer
        /// of the outermost script, and nothing reads or changes it afterwards.
        closing: bool,
    },
    /// A delta of the model's reasoning.
    Thinking {
        /// The text.
        text: String,
    },
    /// A request as sent to the model, for `--explain`, `--dry-run` and snapshots.
    /// [`call::request_map`](crate::call::request_map) formats it for display; most observers do
    /// not need it.
    Request(Box<ChatRequest>),
    /// A tool was called.
    ToolCall {
        /// Its name.
        name: String,
        /// Its arguments.
        arguments: Value,
    },
    /// A tool call ended.
    ToolResult {
        /// Its name.
        name: String,
        /// The result, or an error message.
        result: Result<Value, String>,
    },
    /// A problem that the author should know about. It does not stop the run.
    Warning(Diagnostic),
}

/// The observer of a run. Events are delivered in order, from the run's task, so an observer must
/// not block.
pub trait Observer: Send + Sync + fmt::Debug {
    /// Handles an event.
    fn event(&self, event: RunEvent);
}

/// Ignores all events.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoObserver;

impl Observer for NoObserver {
    fn event(&self, _: RunEvent) {}
}
