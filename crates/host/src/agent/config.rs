//! What agents are made of, and how they behave. Every limit has its default here.

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
use quillet_core::runs::{Allowance, Runs};
use quillet_core::session::Sessions;
use quillet_core::trace::TraceSink;
use quillet_prompt::PromptService;
use quillet_tools::{McpServers, Tools};

use super::ModelSettings;
use crate::script::ScriptService;

/// The models of this process: those of its configuration, and those that requests bring.
pub trait ModelRegistry: Send + Sync + fmt::Debug {
    /// The model of a request; the configured one where it names none.
    ///
    /// # Errors
    /// There is none, or what the request says of it is wrong.
    fn connect(&self, settings: Option<&ModelSettings>) -> Result<ConnectedModel, ModelError>;

    /// The model of requests that name none.
    fn default_model(&self) -> Option<String>;

    /// Names of the providers that can be asked.
    fn providers(&self) -> Vec<String>;

    /// Names of models that can be asked, each with its provider; the model of requests that
    /// name none is the first.
    fn list(&self) -> BoxFuture<'_, Vec<(String, String)>> {
        let default = self.default_model().into_iter();
        let named = default.map(|name| (name, "system".to_owned()));
        Box::pin(std::future::ready(named.collect()))
    }

    /// Whether a model is known to take pictures.
    fn takes_images(&self, _model: &str) -> bool {
        false
    }

    /// Who pays for a run that begins, by the name of a key where there are keys.
    fn payer(&self, key: Option<&str>) -> BudgetAccounts {
        BudgetAccounts::of(key.map(Into::into))
    }

    /// The price of this many calls of a model in US dollars, where that is known.
    fn cost(&self, _model: &str, _usage: &Usage, _calls: u32) -> Option<f64> {
        None
    }
}

/// A model that can be asked.
#[derive(Clone, Debug)]
pub struct ConnectedModel {
    /// The model.
    pub model: Arc<dyn ChatModel>,
    /// The model's name, as it is sent.
    pub name: String,
    /// The provider, as in errors: `openai`, `anthropic`, `google`, `mock`.
    pub provider: String,
    /// What fits into it.
    pub window: Window,
    /// How its tokens are counted.
    pub counter: Arc<dyn TokenCounter>,
}

/// The parts that an agent service is made of.
#[derive(Clone, Debug)]
pub struct AgentParts {
    /// Where models come from.
    pub models: Arc<dyn ModelRegistry>,
    /// Where conversations are stored.
    pub sessions: Arc<dyn Sessions>,
    /// What replicas share about runs.
    pub runs: Arc<dyn Runs>,
    /// Where runs that outlive their process keep what they did; none where `None`.
    pub journal: Option<Arc<dyn Journal>>,
    /// Tools of this service and those of MCP servers.
    pub tools: Arc<Tools>,
    /// Stored prompts and tools, which agents may call.
    pub prompts: Arc<PromptService>,
    /// What runs scripts of the store; none where `None`.
    pub scripts: Option<Arc<ScriptService>>,
    /// Skills that requests may name.
    pub skills: Vec<SkillDefinition>,
    /// MCP servers whose tools every run gets.
    pub mcp_servers: McpServers,
    /// Documents that models may search.
    pub knowledge: Option<Arc<dyn Knowledge>>,
    /// Where traces go, if anywhere.
    pub traces: Option<Arc<dyn TraceSink>>,
}

/// Options of agents.
#[derive(Clone, Debug)]
pub struct AgentOptions {
    /// Bounds of each run.
    pub limits: RunLimits,
    /// Runs of this process at the same time. Default 50.
    pub concurrent: usize,
    /// What one key may do, over all replicas. Default no bound.
    pub allowance: Allowance,
    /// Messages of a history that are loaded. Default 10,000: what does not fit
    /// into the model is for the compaction to cut.
    pub history_messages: usize,
    /// Of a group's history: how many of the first and of the last are kept.
    /// Default 10 and 20.
    pub group_history: (usize, usize),
    /// Whether runs go on for their logs when clients leave, unless requests say
    /// otherwise. Default `false`.
    pub resumable: bool,
    /// Whether runs outlive their process, unless requests say otherwise. Default `false`.
    pub durable: bool,
    /// How long a process that has died holds its durable runs. Default 10 s.
    pub lease: Duration,
    /// How long a call waits for a person, before it is denied. Default 7 days.
    pub approval_time: Duration,
    /// How long a reader of a resumable answer waits for a log that cannot be read, before its
    /// stream ends with an error. Default 10 s.
    pub log_patience: Duration,
    /// Bytes of a request. Default 32 MiB: images come in base64.
    pub body_bytes: usize,
    /// Arguments and results are shown in blocks for tools whose names contain one
    /// of these. Default `read`, `write`, `upload`, `exec`.
    pub shown_tools: Arc<[String]>,
    /// Bytes of a result in a block. Default 16 KiB; the event of the call has all of it.
    pub block_output_bytes: usize,
    /// Whether traces hold the texts of prompts and answers. Default `false`.
    pub trace_texts: bool,
}

impl Default for AgentOptions {
    fn default() -> Self {
        AgentOptions {
            limits: RunLimits::default(),
            concurrent: 50,
            allowance: Allowance::default(),
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
