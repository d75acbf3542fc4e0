//! Parts and options of the agent service. Every limit has its default here.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use quillet_agent::skills::SkillDefinition;
use quillet_agent::{RunLimits, Window};
use quillet_core::BoxFuture;
use quillet_core::budget::BudgetAccounts;
use quillet_core::chat::{ChatModel, ModelError, TokenCounter, Usage};
use quillet_core::journal::Journal;
use quillet_core::knowledge::Knowledge;
use quillet_core::runs::{RunAllowance, Runs};
use quillet_core::session::Sessions;
use quillet_core::trace::TraceSink;
use quillet_prompt::PromptService;
use quillet_tools::{McpServers, Tools};

use super::ModelSettings;
use crate::script::ScriptService;

/// Models of this process: configured models, and models that requests define.
pub trait ModelRegistry: Send + Sync + fmt::Debug {
    /// Returns the model of a request, or the configured one if the request selects none.
    ///
    /// # Errors
    /// No model is configured, or the request's model settings are invalid.
    fn connect(&self, settings: Option<&ModelSettings>) -> Result<ConnectedModel, ModelError>;

    /// Default model for requests that do not select one.
    fn default_model(&self) -> Option<String>;

    /// Names of the available providers.
    fn providers(&self) -> Vec<String>;

    /// Names of available models, each with its provider. The default model comes first.
    fn list(&self) -> BoxFuture<'_, Vec<(String, String)>> {
        let default = self.default_model().into_iter();
        let named = default.map(|name| (name, "system".to_owned()));
        Box::pin(std::future::ready(named.collect()))
    }

    /// Whether a model is known to accept images.
    fn takes_images(&self, _model: &str) -> bool {
        false
    }

    /// Account that pays for a new run. `key` is the name of the client's key, if there are keys.
    fn payer(&self, key: Option<&str>) -> BudgetAccounts {
        BudgetAccounts::of(key.map(Into::into))
    }

    /// Cost of the usage of a model in US dollars, if its prices are known.
    fn cost(&self, _model: &str, _usage: &Usage, _calls: u32) -> Option<f64> {
        None
    }
}

/// A model, and the data about it that a run needs.
#[derive(Clone, Debug)]
pub struct ConnectedModel {
    /// The model.
    pub model: Arc<dyn ChatModel>,
    /// Model name as sent to the provider.
    pub name: String,
    /// Provider name as in errors: `openai`, `anthropic`, `google`, `mock`.
    pub provider: String,
    /// Context window of the model.
    pub window: Window,
    /// Tokenizer of the model.
    pub counter: Arc<dyn TokenCounter>,
}

/// Parts from which an agent service is built.
#[derive(Clone, Debug)]
pub struct AgentParts {
    /// Source of models.
    pub models: Arc<dyn ModelRegistry>,
    /// Store of conversations.
    pub sessions: Arc<dyn Sessions>,
    /// State of runs that replicas share.
    pub runs: Arc<dyn Runs>,
    /// Journal of durable runs; `None` disables durable runs.
    pub journal: Option<Arc<dyn Journal>>,
    /// Tools of this service, including those of MCP servers.
    pub tools: Arc<Tools>,
    /// Stored prompts and tools, which agents may call.
    pub prompts: Arc<PromptService>,
    /// Runner of stored scripts; `None` disables scripts.
    pub scripts: Option<Arc<ScriptService>>,
    /// Skills that requests may refer to.
    pub skills: Vec<SkillDefinition>,
    /// MCP servers whose tools are available in every run.
    pub mcp_servers: McpServers,
    /// Documents that models may search.
    pub knowledge: Option<Arc<dyn Knowledge>>,
    /// Receiver of traces, if any.
    pub traces: Option<Arc<dyn TraceSink>>,
}

/// Options of agents.
#[derive(Clone, Debug)]
pub struct AgentOptions {
    /// Limits of each run.
    pub limits: RunLimits,
    /// Maximum number of concurrent runs of this process. Default 50.
    pub concurrent: usize,
    /// Limits of one key across all replicas. Default no limit.
    pub allowance: RunAllowance,
    /// Maximum number of history messages to load. Default 10,000. Compaction shortens a history
    /// that does not fit into the model's window.
    pub history_messages: usize,
    /// Number of messages to load from the start and the end of a group's history. Default 10 and
    /// 20.
    pub group_history: (usize, usize),
    /// Default of `resumable` in requests: whether a run continues, and writes its event log, after
    /// the client disconnects. Default `false`.
    pub resumable: bool,
    /// Default of `durable` in requests. Default `false`.
    pub durable: bool,
    /// Lease time of a durable run, after which another process may resume it. Default 10 s.
    pub lease: Duration,
    /// How long a call waits for approval before it is denied. Default 7 days.
    pub approval_time: Duration,
    /// How long a reader of a resumable answer waits for an unavailable log before its stream ends
    /// with an error. Default 10 s.
    pub log_patience: Duration,
    /// Maximum bytes of a request. Default 32 MiB, because images are sent in base64.
    pub body_bytes: usize,
    /// Words in tool names. Blocks show the arguments and results of a tool whose name contains one
    /// of these words. Default `read`, `write`, `upload`, `exec`.
    pub shown_tools: Arc<[String]>,
    /// Maximum bytes of a result in a block. Default 16 KiB. The event of the call has the full
    /// result.
    pub block_output_bytes: usize,
    /// Whether traces include the texts of prompts and answers. Default `false`.
    pub trace_texts: bool,
}

impl Default for AgentOptions {
    fn default() -> Self {
        AgentOptions {
            limits: RunLimits::default(),
            concurrent: 50,
            allowance: RunAllowance::default(),
            history_messages: 10_000,
            group_history: (10, 20),
            resumable: false,
            durable: false,
            lease: Duration::from_secs(10),
            approval_time: Duration::from_secs(7 * 24 * 3600),
            log_patience: Duration::from_secs(10),
            body_bytes: 32 << 20,
            shown_tools: ["read", "write", "upload", "exec"]
                .map(str::to_owned)
                .into(),
            block_output_bytes: 16 << 10,
            trace_texts: false,
        }
    }
}
