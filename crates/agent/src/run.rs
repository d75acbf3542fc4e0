//! Specification of a run.

use std::fmt;
use std::future::pending;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use quillet_core::chat::{Bytes4, ChatModel, ChatOptions, TokenCounter, ToolOffer};
use quillet_core::tool::Tool;
use quillet_core::trace::Tracer;
use quillet_core::{BoxFuture, Map, Message};
use uuid::Uuid;

use crate::approval::Approver;

/// Version of a stored prompt that was used.
#[derive(Clone, Debug, PartialEq)]
pub struct PromptVersion {
    /// The id, with its version selector if any.
    pub id: String,
    /// The version number, if known.
    pub version: Option<u64>,
    /// Variables of the render, for traces that record texts.
    pub variables: Option<Arc<Map>>,
}

/// Specification of a run.
pub struct RunSpec {
    /// Id of the run, for logs and for the tools.
    pub id: Arc<str>,
    /// The agent's name, for traces.
    pub agent: Option<String>,
    /// Stored prompt of its instructions, for traces.
    pub prompt: Option<PromptVersion>,
    /// The model.
    pub model: Arc<dyn ChatModel>,
    /// Model name as sent; the model's default if `None`.
    pub model_name: Option<String>,
    /// The system prompt without the section about skills.
    pub system: String,
    /// The conversation so far, oldest first.
    pub history: Vec<Message>,
    /// The question, which compaction cuts last.
    pub input: Vec<Message>,
    /// Tools that this run executes.
    pub tools: Vec<Arc<dyn Tool>>,
    /// Tools that the client executes.
    pub client_tools: Vec<ToolOffer>,
    /// Available and loaded skills.
    pub skills: Skills,
    /// Whether the model may end the run silently (tool `silent_exit`).
    pub silent_exit: bool,
    /// Generation parameters; the run sets `tools`.
    pub options: ChatOptions,
    /// Context window of the model.
    pub window: Window,
    /// Token counter.
    pub counter: Arc<dyn TokenCounter>,
    /// Limits.
    pub limits: RunLimits,
    /// Tracer.
    pub tracer: Tracer,
    /// Parent span.
    pub parent_span: Option<String>,
    /// Whether the run has a journal under its id, for traces.
    pub is_journalled: bool,
    /// Approver of tool calls; `None` approves all calls.
    pub approver: Option<Arc<dyn Approver>>,
    /// Future that resolves when the run must stop.
    pub cancelled: BoxFuture<'static, ()>,
}

impl RunSpec {
    /// Creates a run with default values and without tools. Tokens are estimated, and the run is
    /// not cancelled.
    #[must_use]
    pub fn new(model: Arc<dyn ChatModel>, input: Vec<Message>) -> Self {
        RunSpec {
            id: Uuid::new_v4().simple().to_string().into(),
            model,
            agent: None,
            prompt: None,
            model_name: None,
            system: String::new(),
            history: Vec::new(),
            input,
            tools: Vec::new(),
            client_tools: Vec::new(),
            skills: Skills::default(),
            silent_exit: false,
            options: ChatOptions::default(),
            window: Window::default(),
            // Estimates need no vocabulary.
            counter: Arc::new(Bytes4),
            limits: RunLimits::default(),
            tracer: Tracer::off(),
            parent_span: None,
            is_journalled: false,
            approver: None,
            cancelled: Box::pin(pending()),
        }
    }
}

impl fmt::Debug for RunSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Run")
            .field("id", &self.id)
            .field("model", &self.model)
            .field("model_name", &self.model_name)
            .finish_non_exhaustive()
    }
}

/// The context window of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Tokens of input and output together.
    pub context: u64,
    /// Tokens reserved for the answer.
    pub output: u64,
    /// Whether the model is known. For known models compaction starts at 90 % of the available
    /// tokens and cuts to 70 %. For unknown models it starts at 85 % and cuts to 65 %, because
    /// counts are estimates.
    pub known: bool,
}

/// Window assumed for unknown models, as in Chat Shell.
impl Default for Window {
    fn default() -> Self {
        Window {
            context: 128_000,
            output: 4_096,
            known: false,
        }
    }
}

/// Limits of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunLimits {
    /// Maximum number of turns with tool calls. Default 30. One turn without tools follows.
    pub tool_rounds: u32,
    /// Maximum number of calls in one turn. Further calls get an error as their result. Default
    /// 128, the maximum that OpenAI allows.
    pub turn_calls: usize,
    /// Maximum bytes of one model answer, including texts, reasoning and arguments. Default 8 MiB,
    /// far more than models write.
    pub answer_bytes: usize,
    /// Maximum number of concurrent calls. Default 16.
    pub concurrent_calls: usize,
    /// Timeout of one call. Default 60 s.
    pub call_time: Duration,
    /// Timeout of the run. Default 30 min.
    pub run_time: Duration,
    /// Maximum tokens of a result that the model reads. Default 15,000.
    pub result_tokens: u64,
    /// Maximum number of images of one result for the model. Default 0, because not every model
    /// accepts images.
    pub result_images: usize,
    /// Number of equal calls with equal results, without progress in between, after which the model
    /// gets a notice and one last turn without calls. Also the maximum number of equal calls in one
    /// turn. 0 means no limit, and 1 counts as 2. Default 3.
    pub repeated_calls: u32,
    /// Maximum characters of each attachment. Default 50,000.
    pub attachment_characters: usize,
    /// Whether the conversation is compacted. Default yes.
    pub compaction: bool,
    /// Whether the model summarizes removed messages. Default no.
    pub summarize: bool,
    /// Notice to the model when the limit on rounds is reached. The default is Chat Shell's notice
    /// in Chinese, which says that the limit on calls is reached and that the model should answer
    /// with the available information and call no more tools.
    pub limit_notice: String,
}

impl Default for RunLimits {
    fn default() -> Self {
        RunLimits {
            tool_rounds: 30,
            turn_calls: 128,
            answer_bytes: 8 << 20,
            concurrent_calls: 16,
            call_time: Duration::from_secs(60),
            run_time: Duration::from_secs(1800),
            result_tokens: 15_000,
            result_images: 0,
            repeated_calls: 3,
            attachment_characters: 50_000,
            compaction: true,
            summarize: false,
            limit_notice: "[系统通知] 达到工具调用限制。\n请根据已收集的信息提供最终响应。\n不要尝试调用更多工具。"
                .to_owned(),
        }
    }
}

/// Skills of a run.
#[derive(Clone, Debug, Default)]
pub struct Skills {
    /// All available skills.
    pub available: Vec<Skill>,
    /// Names of skills that are loaded at the start: preloaded skills, and skills loaded in earlier
    /// turns.
    pub loaded: Vec<String>,
    /// Names of skills that the user chose. The system prompt mentions these skills.
    pub chosen: Vec<String>,
}

/// Instructions and tools that a model loads on demand.
#[derive(Clone, Debug, Default)]
pub struct Skill {
    /// Its name.
    pub name: String,
    /// Describes when the model should load the skill. A skill without a description is not listed.
    pub description: String,
    /// The instructions.
    pub prompt: String,
    /// Tools that are available once it is loaded.
    pub tools: Vec<Arc<dyn Tool>>,
    /// Folder whose files the model may read once the skill is loaded.
    pub folder: Option<Arc<Path>>,
}
