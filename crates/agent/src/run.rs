//! What a run needs.

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

/// Which version of which stored prompt was used.
#[derive(Clone, Debug, PartialEq)]
pub struct PromptVersion {
    /// The id, with its mark if it had one.
    pub id: String,
    /// The number of the version, where it is known.
    pub version: Option<u64>,
    /// What it was rendered with, for traces that hold texts.
    pub variables: Option<Arc<Map>>,
}

/// Everything that a run needs.
pub struct RunSpec {
    /// Id of the run, for logs and for the tools.
    pub id: Arc<str>,
    /// The agent's name, for traces.
    pub agent: Option<String>,
    /// The stored prompt that its instructions are, for traces.
    pub prompt: Option<PromptVersion>,
    /// The model.
    pub model: Arc<dyn ChatModel>,
    /// The model's name, as it is sent; the implementation's default where `None`.
    pub model_name: Option<String>,
    /// The system prompt, without the part about skills.
    pub system: String,
    /// The conversation so far, oldest first.
    pub history: Vec<Message>,
    /// What is asked now; the last thing that a compaction touches.
    pub input: Vec<Message>,
    /// What the model may call, and this run calls.
    pub tools: Vec<Arc<dyn Tool>>,
    /// What the model may call, and the client calls.
    pub client_tools: Vec<ToolOffer>,
    /// Skills that can be loaded, and those that are.
    pub skills: Skills,
    /// Whether the model may end the run without a word (tool `silent_exit`).
    pub silent_exit: bool,
    /// How to answer; `tools` are set by the run.
    pub options: ChatOptions,
    /// What fits into the model.
    pub window: Window,
    /// How tokens are counted.
    pub counter: Arc<dyn TokenCounter>,
    /// Bounds.
    pub limits: RunLimits,
    /// Where spans go.
    pub tracer: Tracer,
    /// The span that this run is part of.
    pub parent_span: Option<String>,
    /// Whether a journal has what it does, under its id; for traces.
    pub is_journalled: bool,
    /// Who is asked before a tool is called; nobody where `None`.
    pub approver: Option<Arc<dyn Approver>>,
    /// Ready when the run is to stop.
    pub cancelled: BoxFuture<'static, ()>,
}

impl RunSpec {
    /// A run that asks a model this, without tools and with every default: to be
    /// changed field by field. Tokens are estimated, and nobody cancels it.
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
    /// Tokens of a request and its answer together.
    pub context: u64,
    /// Tokens of that kept for the answer.
    pub output: u64,
    /// Whether the model is known; estimates leave more room where it is not: compaction starts at
    /// 90 % of what the answer leaves of the window and cuts to 70 %, and for unknown models at 85
    /// % and to 65 %.
    pub known: bool,
}

/// What is assumed of a model that nothing is known about, as in Chat Shell.
impl Default for Window {
    fn default() -> Self {
        Window {
            context: 128_000,
            output: 4_096,
            known: false,
        }
    }
}

/// Bounds of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunLimits {
    /// Turns of the model that call tools. Default 30; then one turn without tools.
    pub tool_rounds: u32,
    /// Calls of one turn; more are answered without being made. Default 128, which is
    /// what OpenAI lets a model make.
    pub turn_calls: usize,
    /// Bytes of one answer of the model: its texts, reasoning and arguments together.
    /// Default 8 MiB, far above what any model can write at once.
    pub answer_bytes: usize,
    /// Calls at the same time. Default 16.
    pub concurrent_calls: usize,
    /// One call. Default 60 s.
    pub call_time: Duration,
    /// The whole run. Default 30 min.
    pub run_time: Duration,
    /// Tokens of a result that the model reads. Default 15,000.
    pub result_tokens: u64,
    /// Pictures of one result that the model is shown. Default none, since not every model
    /// takes them.
    pub result_images: usize,
    /// Equal calls with equal results and nothing new between them, after which the model gets a
    /// notice and one last turn without calls. Equal calls in one turn beyond as many are not made.
    /// 0 is no limit, 1 counts as 2. Default 3.
    pub repeated_calls: u32,
    /// Characters of each attachment. Default 50,000.
    pub attachment_characters: usize,
    /// Whether the conversation is cut to the window. Default yes.
    pub compaction: bool,
    /// Whether the model writes a summary of what is cut out. Default no.
    pub summarize: bool,
    /// What the model is told when the rounds are used up. Default: Chat Shell's notice, word for
    /// word (Chinese: the limit on calls is reached, answer with what there is, call no more
    /// tools).
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

/// Skills that a run knows.
#[derive(Clone, Debug, Default)]
pub struct Skills {
    /// All that can be loaded.
    pub available: Vec<Skill>,
    /// Names of those that are loaded when the run begins: preloaded ones, and those
    /// that earlier turns loaded.
    pub loaded: Vec<String>,
    /// Names of those that the user chose, which the prompt says.
    pub chosen: Vec<String>,
}

/// Instructions that a model loads when it needs them, with their tools.
#[derive(Clone, Debug, Default)]
pub struct Skill {
    /// Its name.
    pub name: String,
    /// When to load it; one without a description is not listed.
    pub description: String,
    /// The instructions.
    pub prompt: String,
    /// Tools that are there once it is loaded.
    pub tools: Vec<Arc<dyn Tool>>,
    /// Its folder, whose files the model may read once it is loaded.
    pub folder: Option<Arc<Path>>,
}
