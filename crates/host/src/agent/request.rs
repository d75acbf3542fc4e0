//! Agent request, independent of its route. It is plain data in the terms of Chat Shell's requests.
//! Each route defines and validates its own wire format.

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

/// Default limit on output tokens, as in Chat Shell. A lower limit of the model takes precedence.
pub const DEFAULT_MAX_TOKENS: u64 = 32_768;

/// A request to an agent.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default)]
pub struct AgentRequest {
    /// The model; the configured model if `None`.
    pub model: Option<ModelSettings>,
    /// Temperature, 0 to 2. Not sent if `None`, because reasoning models reject it.
    pub temperature: Option<f64>,
    /// Maximum number of output tokens. [`DEFAULT_MAX_TOKENS`] if unset, and at most the model's
    /// own limit.
    pub max_tokens: Option<u64>,
    /// The user's input.
    pub input: RunInput,
    /// Session from which the history is loaded and to which the answer is added.
    pub session: Option<String>,
    /// Whether the history is loaded.
    pub include_history: bool,
    /// The system prompt.
    pub system: Option<String>,
    /// Tools that the model may call.
    pub tools: ToolSettings,
    /// Whether the model must call a tool.
    pub tool_choice: Option<ToolChoice>,
    /// Generation parameters that only some routes accept.
    pub options: ChatOptions,
    /// Feature switches.
    pub features: Features,
    /// Metadata of the request.
    pub metadata: Metadata,
    /// Files attached to the question.
    pub attachments: Vec<Attachment>,
    /// Passages attached to the question.
    pub knowledge: Option<KnowledgeContext>,
    /// Results of calls that an earlier answer requested from the client.
    pub tool_results: Vec<ToolResult>,
    /// Script to run instead of an agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub script: Option<ScriptRequest>,
    /// Budget of this run, in addition to the budgets of its key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<BudgetLimits>,
    /// Warnings about the request, which are added to the answer.
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
    /// Creates a request with a question and defaults.
    #[must_use]
    pub fn question(text: impl Into<String>) -> Self {
        AgentRequest {
            input: RunInput::Content(MessageContent::Text(text.into())),
            ..AgentRequest::default()
        }
    }

    /// Creates a request for a durable run of a script.
    #[must_use]
    pub fn of_script(mut script: ScriptRequest) -> Self {
        let mut request = AgentRequest::default();
        request.tools.ask = std::mem::take(&mut script.ask);
        request.features.durable = Some(true);
        request.script = Some(script);
        request
    }

    /// Returns the id of the session: the given session, or else the session of the task.
    #[must_use]
    pub fn session_id(&self) -> Option<String> {
        let named = self.session.clone().filter(|id| !id.is_empty());
        named.or_else(|| Some(format!("task-{}", self.metadata.task_id.as_ref()?)))
    }
}

/// Model settings of a request.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ModelSettings {
    /// Model name; `agent/NAME` refers to a stored agent.
    pub model_id: String,
    /// Provider: `openai`, `gpt`, `claude`, `anthropic`, `google` or `gemini`. Other values are
    /// ignored, and the provider is derived from the model name.
    pub model: String,
    /// API key; empty for servers without authentication.
    #[serde(skip)]
    pub api_key: SecretString,
    /// Base URL of the provider; its default if `None`.
    pub base_url: Option<String>,
    /// `chat`, or `responses` for OpenAI's Responses.
    pub api_format: String,
    /// Headers for every request to the provider.
    #[serde(skip)]
    pub default_headers: Vec<(String, SecretString)>,
    /// Context window in tokens, for input and output together.
    pub context_window: Option<u64>,
    /// Maximum number of output tokens.
    pub max_output_tokens: Option<u64>,
    /// Timeout for periods without data from the provider. Default 120 s.
    pub timeout: Option<Duration>,
    /// Number of retries. Default 3.
    pub max_retries: Option<u32>,
    /// Initial backoff. Default 1 s.
    pub retry_delay: Option<Duration>,
    /// Name of a stored model or agent.
    pub model_name: Option<String>,
    /// Namespace of the stored model or agent.
    pub model_namespace: Option<String>,
}

// Not derived, because addresses may contain passwords.
impl fmt::Debug for ModelSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelSettings")
            .field("model_id", &self.model_id)
            .field("model", &self.model)
            .finish_non_exhaustive()
    }
}

/// Input of a request.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunInput {
    /// The whole conversation; no history is loaded.
    Messages(Vec<Message>),
    /// The user's message; empty if the request only returns tool results.
    Content(MessageContent),
}

impl Default for RunInput {
    fn default() -> Self {
        RunInput::Content(MessageContent::default())
    }
}

/// Tools that the model may call, and limits on calls.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ToolSettings {
    /// Settings of this service's tools (`enabled`, `max_results`, …), by tool name.
    pub builtin: BTreeMap<String, Map<String, Value>>,
    /// Tools that the client executes.
    pub custom: Vec<ToolOffer>,
    /// MCP servers whose tools are available: objects `{name, url, type, auth}`.
    pub mcp_servers: Vec<RawJson>,
    /// Skills that the model can load.
    pub skills: Vec<SkillChoice>,
    /// Maximum number of turns with tool calls; the configured limit if `None`.
    pub max_tool_calls: Option<u32>,
    /// Number of equal calls with equal results after which the model is stopped. `None` uses the
    /// configured number, and 0 means no limit.
    pub repeated_calls: Option<u32>,
    /// Timeout of one call; the configured timeout if `None`.
    pub tool_timeout: Option<Duration>,
    /// Patterns of tools that need approval, in addition to the patterns of the agent.
    pub ask: Vec<String>,
}

/// Unparsed JSON of the client. Hidden in debug output, because it may contain credentials.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RawJson(pub Value);

impl fmt::Debug for RawJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Written(…)")
    }
}

/// A skill of the configured folder, as requested.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SkillChoice {
    /// Its name.
    pub name: String,
    /// Whether it is loaded from the start.
    pub preload: bool,
}

/// Feature switches of a request.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default)]
pub struct Features {
    /// Instructs the model to think thoroughly, and adds the current time to the user's message.
    pub deep_thinking: bool,
    /// Lets the model ask the user for clarification.
    pub clarification: bool,
    /// Whether the answer is streamed as events.
    pub streaming: bool,
    /// Whether a conversation that does not fit is compacted.
    pub message_compression: bool,
    /// Whether the model may search the web.
    pub web_search: bool,
    /// Name of the configured search engine.
    pub search_engine: Option<String>,
    /// Whether the run continues, and writes its event log, after the client disconnects. The
    /// configured default if `None`.
    pub resumable: Option<bool>,
    /// Whether the run is durable. The configured default if `None`. Runs with tools that need
    /// approval are always durable.
    pub durable: Option<bool>,
    /// Optional events to send: `tool_limit_reached`, `sources.update`.
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

/// Metadata of a request: user, task, skills and documents.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Metadata {
    /// Id of the request, for clients that cannot set a header.
    pub request_id: Option<String>,
    /// Name of the speaker in a group.
    pub user_name: Option<String>,
    /// Id of the task, which selects the session if `session` is unset.
    pub task_id: Option<String>,
    /// Whether the conversation has several users (`chat_type` is `group`).
    pub is_group: bool,
    /// Maximum number of history messages to load.
    pub history_limit: Option<usize>,
    /// Names of skills that the model can load.
    pub skill_names: Vec<String>,
    /// Skills defined in the request: objects with the members of a skill's front matter, and a
    /// member `prompt`.
    pub skill_configs: Vec<RawJson>,
    /// Skills that are loaded from the start.
    pub preload_skills: Vec<String>,
    /// Skills that the user chose.
    pub user_selected_skills: Vec<String>,
    /// Collections to search.
    pub knowledge_base_ids: Vec<String>,
    /// Id of the message for which the remote side saves search results.
    pub user_subtask_id: Option<i64>,
    /// Documents to search; all if empty.
    pub document_ids: Vec<i64>,
    /// Whether the user chose the collections. The model must then use only these collections to
    /// answer.
    pub is_user_selected_kb: bool,
    /// Data for the placeholders `${{path}}` in MCP servers of skills.
    pub task_data: RawJson,
    /// Whether the model may end the run silently.
    pub is_subscription: bool,
}

/// A file attached to the question.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Attachment {
    /// Its id.
    pub id: Option<String>,
    /// Its name.
    pub filename: String,
    /// MIME type, such as `text/plain`.
    pub mime_type: String,
    /// Its text.
    pub content: Option<String>,
    /// Its bytes in base64.
    pub data: Option<String>,
}

/// Passages attached to the question.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct KnowledgeContext {
    /// The passages.
    pub contexts: Vec<KnowledgePassage>,
    /// Instructions to the model about the passages.
    pub meta_prompt: Option<String>,
}

/// A passage.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct KnowledgePassage {
    /// Id of its collection.
    pub collection: String,
    /// Name of its collection.
    pub name: String,
    /// The text.
    pub content: String,
}

/// Result of a call that the client executed.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ToolResult {
    /// Id of the call.
    pub id: String,
    /// The result.
    pub output: String,
    /// Whether the call failed.
    pub is_error: bool,
}
