//! What a run needs from whoever runs it. Nothing here knows a terminal, a server or a provider.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use quillet_core::chat::{ChatModel, ChatRequest, TokenCounter, Usage};
use quillet_core::tool::{Tool, ToolContext, ToolError, ToolErrorKind, ToolSpec};
use quillet_core::web::{WebAnswer, WebRequest};
use quillet_core::{BoxFuture, Diagnostic, Map, Value};

/// The name of the network among tools, for those who are asked about it.
pub const FETCH: &str = "fetch";

/// Models by name.
pub trait ModelSource: Send + Sync + fmt::Debug {
    /// The model of a name (`gpt-6-sol`, `openai://gpt-6-sol`), or the default for `None`.
    ///
    /// # Errors
    /// That there is none, and which there are, for the script's author.
    fn model(&self, name: Option<&str>) -> Result<ModelHandle, String>;

    /// What an answer of a model cost in US dollars, where its price is known.
    fn cost(&self, _model: &str, _usage: &Usage) -> Option<f64> {
        None
    }
}

/// A model and what it can do.
#[derive(Clone, Debug)]
pub struct ModelHandle {
    /// The model.
    pub model: Arc<dyn ChatModel>,
    /// The name to send, if not the implementation's default.
    pub name: Option<String>,
    /// What it can do.
    pub abilities: ModelCapabilities,
    /// How its tokens are counted.
    pub counter: Arc<dyn TokenCounter>,
    /// Tokens of a request and its answer together, where known.
    pub window: Option<u64>,
}

/// The abilities of a provider. What it does not, the engine does in words and checks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ModelCapabilities {
    /// Takes tools and calls them.
    pub tools: bool,
    /// Keeps to a JSON Schema (`response_format` of type `json_schema`).
    pub json_schema: bool,
    /// Keeps to JSON (`json_object`).
    pub json_object: bool,
    /// Takes `logit_bias` by token ids, and the engine has its tokenizer.
    pub logit_bias: bool,
    /// Goes on from a last message of the assistant.
    pub continues: bool,
}

/// Tools that were registered outside of the script: catalogue, MCP, built-in.
pub trait Tools: Send + Sync + fmt::Debug {
    /// The tool of a name.
    fn tool(&self, name: &str) -> Option<Arc<dyn Tool>>;

    /// All names.
    fn names(&self) -> Vec<String>;

    /// The tool of a name as a dry run calls it: one that reaches nothing, such as a prompt that is
    /// rendered without its own calls. Any other tool is not called by a dry run.
    fn dry(&self, _name: &str) -> Option<Arc<dyn Tool>> {
        None
    }

    /// Returns the tool of a name for calls that need approval (`ask` of a script). By default no
    /// approval is possible, and calls are rejected.
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

    /// Returns whether some servers were not contacted for their tools, as in a dry run.
    fn has_unasked(&self) -> bool {
        false
    }
}

/// HTTP access of scripts, with the checks of the host.
pub trait Network: Send + Sync + fmt::Debug {
    /// Sends a request.
    ///
    /// # Errors
    /// The reason why there is no complete response, for the script's author. A status of 400 or
    /// above is not an error.
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

/// The network, where somebody would have to agree to it.
#[derive(Debug)]
struct UnaskedNetwork;

impl Network for UnaskedNetwork {
    fn fetch(&self, _: WebRequest) -> BoxFuture<'_, Result<WebAnswer, String>> {
        Box::pin(std::future::ready(Err(nobody_to_ask(FETCH))))
    }
}

/// No tools.
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

/// Permissions of a script for everything outside automatically. Nothing by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grants {
    /// Folders that `fs`, `file()` and the like may read, besides the script's own.
    pub read: Vec<PathBuf>,
    /// Folders that may be written.
    pub write: Vec<PathBuf>,
    /// Whether `url()` and `fetch` may connect (addresses are checked all the same).
    pub net: bool,
    /// Whether functions in other languages may start their interpreter.
    pub run: bool,
    /// Variables of the environment that `ENV` shows.
    pub env: Vec<String>,
}

/// What a run may reach. One value for both, so that no dry run can be given a grant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunAccess {
    /// Nothing: a dry run. It records its requests and asks no model; no tool is called, no granted
    /// file read or written, no process started. What it omitted are warnings
    /// ([`crate::run::DRY_RUN`]).
    Nothing,
    /// Models, tools, and what is granted.
    Granted(Grants),
    /// Models, tools and the network, all of whose answers the host keeps: the run may be made once
    /// more from its start with the answers that are there ([`crate::run::lane`] says which is
    /// whose). Everything else that could be another then is fixed or refused: the clock, random
    /// numbers, timers, files besides its scripts, processes, the environment.
    Kept(ReplayAccess),
}

/// What a run whose calls are kept has besides them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReplayAccess {
    /// Whether `url()` and `fetch` may connect.
    pub net: bool,
    /// What time it is in the run, in milliseconds since 1970. JavaScript's clock continues by one
    /// with each look at it.
    pub began_ms: u64,
}

impl RunAccess {
    /// Whether it is that of a dry run.
    #[must_use]
    pub fn is_dry(&self) -> bool {
        matches!(self, RunAccess::Nothing)
    }

    /// When a run began whose calls are kept.
    #[must_use]
    pub fn replay_access(&self) -> Option<ReplayAccess> {
        match self {
            RunAccess::Kept(kept) => Some(*kept),
            RunAccess::Nothing | RunAccess::Granted(_) => None,
        }
    }

    /// The grants; none for a dry run.
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

/// Bounds of a run. Each has an error that names it.
#[derive(Clone, Debug, PartialEq)]
pub struct ScriptLimits {
    /// Instructions and turns of loops, in all scripts of a run together. Default 1,000,000.
    pub steps: u64,
    /// Scripts that call each other. Default 64.
    pub depth: usize,
    /// Calls of models in a run. Default 1,000.
    pub model_calls: u64,
    /// Tokens of all requests and answers of a run together. None by default.
    pub tokens: Option<u64>,
    /// What all answers of a run may cost together, in US dollars. None by default. With it, a
    /// model whose price nobody knows is not asked.
    pub cost: Option<f64>,
    /// Messages in a dialogue. Default 100,000.
    pub messages: usize,
    /// Bytes of all texts that a run keeps. Default 256 MiB.
    pub bytes: usize,
    /// Time of a run without its models and tools. Default 30 s.
    pub own_time: Duration,
    /// One piece of JavaScript without what it waits for. Default 5 s.
    pub js_time: Duration,
    /// Memory of a run's JavaScript. Default 64 MiB.
    pub js_memory: usize,
    /// Stack of a run's JavaScript. Default 512 KiB.
    pub js_stack: usize,
    /// Bounds of each template in a script, as of any template.
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

/// An event of a running script; they come in order.
#[derive(Clone, Debug)]
pub enum RunEvent {
    /// `$print`: a line for standard output.
    Printed(String),
    /// A message after the hidden prefix is complete.
    Message {
        /// Whose it is.
        role: String,
        /// Its text.
        content: String,
    },
    /// A piece of the model's answer.
    Delta {
        /// The role that answers.
        role: String,
        /// The piece.
        text: String,
        /// Whether it is a piece of the script's result, word for word: the last answer of the
        /// outermost script, which nothing reads or changes any more.
        closing: bool,
    },
    /// A piece of the model's thinking.
    Thinking {
        /// The piece.
        text: String,
    },
    /// A request as it goes to the model: for `--explain`, `--dry-run`, snapshots.
    /// [`call::request_map`](crate::call::request_map) writes it for people; most who watch need
    /// not.
    Request(Box<ChatRequest>),
    /// A tool was called.
    ToolCall {
        /// Its name.
        name: String,
        /// Its arguments.
        arguments: Value,
    },
    /// A call of a tool ended.
    ToolResult {
        /// Its name.
        name: String,
        /// What it gave, or its failure in words.
        result: Result<Value, String>,
    },
    /// Something that the author should know, and that ends nothing.
    Warning(Diagnostic),
}

/// The observer of a run. Called in order, from the run's task; must not block.
pub trait Observer: Send + Sync + fmt::Debug {
    /// Something happened.
    fn event(&self, event: RunEvent);
}

/// Nobody watches.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoObserver;

impl Observer for NoObserver {
    fn event(&self, _: RunEvent) {}
}
