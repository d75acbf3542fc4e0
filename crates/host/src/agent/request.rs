//! Request to an agent, independent of its route. Plain data in the terms of Chat Shell's request;
//! the route that reads it defines and validates the wire format.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use quillet_core::budget::BudgetLimits;
use quillet_core::chat::{ChatOptions, ToolChoice, ToolOffer};
use quillet_core::{Message, MessageContent};
use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::ScriptRequest;

/// Default limit on output tokens, as in Chat Shell; the model's own limit lowers it.
pub const DEFAULT_MAX_TOKENS: u64 = 32_768;

/// A request to an agent.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default)]
pub struct AgentRequest {
    /// The model; the configured one if `None`.
    pub model: Option<ModelSettings>,
    /// Temperature, 0 to 2. Not sent if `None`, because reasoning models reject it.
    pub temperature: Option<f64>,
    /// Maximum number of output tokens; [`DEFAULT_MAX_TOKENS`] if unset, and never more than the
    /// model can write.
    pub max_tokens: Option<u64>,
    /// The user's input.
    pub input: RunInput,
    /// The session whose history is loaded and added to.
    pub session: Option<String>,
    /// Whether the history is loaded.
    pub include_history: bool,
    /// The system prompt.
    pub system: Option<String>,
    /// Tools that the model may call.
    pub tools: ToolSettings,
    /// Whether the model must call a tool.
    pub tool_choice: Option<ToolChoice>,
    /// Other generation parameters, from routes whose requests have them.
    pub options: ChatOptions,
    /// Feature switches.
    pub features: Features,
    /// Metadata of the request.
    pub metadata: Metadata,
    /// Files that belong to the question.
    pub attachments: Vec<Attachment>,
    /// Passages that belong to the question.
    pub knowledge: Option<KnowledgeContext>,
    /// Results of calls that an earlier answer asked the client to make.
    pub tool_results: Vec<ToolResult>,
    /// Script that runs instead of an agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub script: Option<ScriptRequest>,
    /// Budget of this run, in addition to those of its key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<BudgetLimits>,
    /// Warnings about the request; the answer repeats them.
    pub warnings: Vec<String>,
}

impl Default for AgentRequest {
    fn default() -> Self {
        AgentRequest {
            model: None,
            temperature: None,
            max_tokens: None,
            input: RunInput::default(),
            session: None,
            include_history: true,
            system: None,
            tools: ToolSettings::default(),
            tool_choice: None,
            options: ChatOptions::default(),
            features: Features::default(),
            metadata: Metadata::default(),
            attachments: Vec::new(),
            knowledge: None,
            tool_results: Vec::new(),
            script: None,
            budget: None,
            warnings: Vec::new(),
        }
    }
}

impl AgentRequest {
    /// Request with a question and defaults otherwise.
    #[must_use]
    pub fn question(text: impl Into<String>) -> Self {
        AgentRequest {
            input: RunInput::Content(MessageContent::Text(text.into())),
            ..AgentRequest::default()
        }
    }

    /// Request for a durable run of a script.
    #[must_use]
    pub fn of_script(mut script: ScriptRequest) -> Self {
        let mut request = AgentRequest::default();
        request.tools.ask = std::mem::take(&mut script.ask);
        request.features.durable = Some(true);
        request.script = Some(script);
        request
    }

    /// The session: the named one, else that of the task, else none.
    #[must_use]
    pub fn session_id(&self) -> Option<String> {
        let named = self.session.clone().filter(|id| !id.is_empty());
        named.or_else(|| Some(format!("task-{}", self.metadata.task_id.as_ref()?)))
    }
}

/// Model settings of one request.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ModelSettings {
    /// Its name; `agent/NAME` is a stored agent.
    pub model_id: String,
    /// The provider: `openai`, `gpt`, `claude`, `anthropic`, `google`, `gemini`, or a guess by the
    /// name.
    pub model: String,
    /// The key; empty for servers that need none.
    #[serde(skip)]
    pub api_key: SecretString,
    /// Address of the provider; its own where `None`.
    pub base_url: Option<String>,
    /// `chat`, or `responses` for OpenAI's Responses.
    pub api_format: String,
    /// Headers of every request to the provider.
    #[serde(skip)]
    pub default_headers: Vec<(String, SecretString)>,
    /// Tokens of a request and its answer together.
    pub context_window: Option<u64>,
    /// Most tokens of an answer.
    pub max_output_tokens: Option<u64>,
    /// Longest silence of the provider before a timeout. Default 120 s.
    pub timeout: Option<Duration>,
    /// Number of retries. Default 3.
    pub max_retries: Option<u32>,
    /// Initial backoff. Default 1 s.
    pub retry_delay: Option<Duration>,
    /// A stored model or agent.
    pub model_name: Option<String>,
    /// Where that is stored.
    pub model_namespace: Option<String>,
}

// Implemented by hand, because addresses may contain passwords.
impl fmt::Debug for ModelSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelSettings")
            .field("model_id", &self.model_id)
            .field("model", &self.model)
            .finish_non_exhaustive()
    }
}

/// The question of a request.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunInput {
    /// The whole conversation: no history is loaded.
    Messages(Vec<Message>),
    /// What the user says now; nothing where only results of tools are given.
    Content(MessageContent),
}

impl Default for RunInput {
    fn default() -> Self {
        RunInput::Content(MessageContent::default())
    }
}

/// The tools that the model may call, and their limits.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ToolSettings {
    /// Tools of this service, by name, with their settings (`enabled`, `max_results`, …).
    pub builtin: BTreeMap<String, Map<String, Value>>,
    /// Tools that the client calls.
    pub custom: Vec<ToolOffer>,
    /// MCP servers whose tools are offered: objects `{name, url, type, auth}`.
    pub mcp_servers: Vec<RawJson>,
    /// Skills that can be loaded.
    pub skills: Vec<SkillChoice>,
    /// Turns that call tools; the configured number where `None`.
    pub max_tool_calls: Option<u32>,
    /// Equal calls with equal results, after which the model is stopped; the configured number
    /// where `None`, no limit for 0.
    pub repeated_calls: Option<u32>,
    /// Longest time of one call; the configured one where `None`.
    pub tool_timeout: Option<Duration>,
    /// Patterns of tools that are not called before a person has agreed, besides those of the
    /// agent.
    pub ask: Vec<String>,
}

/// JSON as the client wrote it, read by the part that knows its form. May hold
/// credentials, so it is not shown.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RawJson(pub Value);

impl fmt::Debug for RawJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Written(…)")
    }
}

/// A skill of the configured folder.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SkillChoice {
    /// Its name.
    pub name: String,
    /// Whether it is loaded from the start.
    pub preload: bool,
}

/// Switches of a request.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default)]
pub struct Features {
    /// The model is told to think thoroughly, and what time it is.
    pub deep_thinking: bool,
    /// The model is told to ask back where something is unclear.
    pub clarification: bool,
    /// Whether the answer comes as events.
    pub streaming: bool,
    /// Whether a conversation that does not fit is cut.
    pub message_compression: bool,
    /// Whether the model may search the web.
    pub web_search: bool,
    /// The configured engine to search with.
    pub search_engine: Option<String>,
    /// Whether the run goes on for its log when the client leaves; the configured
    /// choice where `None`.
    pub resumable: Option<bool>,
    /// Whether the run outlives its process; the configured choice where `None`. A run whose tools
    /// wait for people does in any case.
    pub durable: Option<bool>,
    /// Events that are only sent to clients that ask for them: `tool_limit_reached`,
    /// `sources.update`.
    pub events: Vec<String>,
}

impl Default for Features {
    fn default() -> Self {
        Features {
            deep_thinking: false,
            clarification: false,
            streaming: true,
            message_compression: true,
            web_search: false,
            search_engine: None,
            resumable: None,
            durable: None,
            events: Vec::new(),
        }
    }
}

/// Who asks, and what comes with the question.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Metadata {
    /// Id of the request, for clients that cannot set a header.
    pub request_id: Option<String>,
    /// The name of the user who asks, in a group.
    pub user_name: Option<String>,
    /// The task, which is a session where none is named.
    pub task_id: Option<String>,
    /// Whether several people talk (`chat_type` is `group`).
    pub is_group: bool,
    /// Most messages of the history that are loaded.
    pub history_limit: Option<usize>,
    /// Skills that can be loaded.
    pub skill_names: Vec<String>,
    /// Skills that come with the request: objects as in a skill's front matter, with `prompt`.
    pub skill_configs: Vec<RawJson>,
    /// Skills that are loaded from the start.
    pub preload_skills: Vec<String>,
    /// Skills that the user chose.
    pub user_selected_skills: Vec<String>,
    /// Collections that are searched.
    pub knowledge_base_ids: Vec<String>,
    /// The message that the remote side saves results of searches for.
    pub user_subtask_id: Option<i64>,
    /// Documents that are searched; all where there are none.
    pub document_ids: Vec<i64>,
    /// Whether the user chose the collections: then only they may answer.
    pub is_user_selected_kb: bool,
    /// What `${{path}}` in skills' servers stands for.
    pub task_data: RawJson,
    /// Whether the model may end the run without a word.
    pub is_subscription: bool,
}

/// A file that belongs to the question.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Attachment {
    /// Its id.
    pub id: Option<String>,
    /// Its name.
    pub filename: String,
    /// What it is, such as `text/plain`.
    pub mime_type: String,
    /// Its text.
    pub content: Option<String>,
    /// Its bytes in base64.
    pub data: Option<String>,
}

/// Passages that belong to the question.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct KnowledgeContext {
    /// The passages.
    pub contexts: Vec<KnowledgePassage>,
    /// What the model learns about them.
    pub meta_prompt: Option<String>,
}

/// A passage.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct KnowledgePassage {
    /// The collection that it is from.
    pub collection: String,
    /// What that is called.
    pub name: String,
    /// The text.
    pub content: String,
}

/// The result of a call that the client made.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ToolResult {
    /// The call.
    pub id: String,
    /// What it gave.
    pub output: String,
    /// Whether it failed.
    pub is_error: bool,
}
