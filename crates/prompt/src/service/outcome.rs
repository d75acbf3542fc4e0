//! What the service answers.

use std::sync::Arc;
use std::time::Duration;

use quillet_core::chat::{ChatOptions, ChatRequest, ChatStream};
use quillet_template::TextSegment;

use crate::error::ToolFailure;
use crate::explain::Explanation;
use crate::messages::RenderedPrompt;
use crate::names::{UnresolvedVariable, UnusedVariable};
use crate::revision::Revision;
use crate::script::DryRun;

/// A render that succeeded.
#[derive(Clone, Debug)]
pub struct RenderOutcome {
    /// The text or the messages.
    pub prompt: RenderedPrompt,
    /// The model that the prompt was written for, if it says so.
    pub model: Option<String>,
    /// How that model is to answer.
    pub options: Arc<ChatOptions>,
    /// Tool calls that failed and left their defaults.
    pub failures: Vec<ToolFailure>,
    /// Tool calls that were made, those included.
    pub calls: usize,
    /// Whether the store is away and shared variables may be old.
    pub stale: bool,
    /// How long it took, tool calls included.
    pub time: Duration,
    /// Of a script: which requests it would make, as far as that is known.
    pub dry_run: Option<DryRun>,
    /// Variables of the request that the prompt neither declares nor uses.
    pub unused: Vec<UnusedVariable>,
    /// Variables that a prompt file uses and does not declare, and nobody gave.
    pub absent: Vec<UnresolvedVariable>,
    /// What the render was made of, if [`Input::explain`](crate::Input::explain) asks.
    pub explanation: Option<Box<Explanation>>,
    /// The text of each template of the prompt, in order, in pieces that say where they come from,
    /// if [`Input::segments`](crate::Input::segments) asks. Together they are what the templates
    /// printed, before it was divided into messages.
    pub segments: Vec<Vec<TextSegment>>,
    /// The number of the version that spoke: where a label or a mark has chosen one, or
    /// [`Input::numbered`](crate::Input::numbered) asks.
    pub version: Option<u64>,
    /// Which text the definition was; `None` of one that came with the request.
    pub revision: Option<Revision>,
}

/// A model that has begun to answer.
#[allow(missing_debug_implementations, reason = "holds a stream")]
pub struct ChatOutcome {
    /// The answer. Dropping it ends the call to the provider.
    pub stream: ChatStream,
    /// Tool calls of the render that failed and left their defaults.
    pub failures: Vec<ToolFailure>,
    /// Variables of the request that the prompt neither declares nor uses.
    pub unused: Vec<UnusedVariable>,
    /// Variables that a prompt file uses and does not declare, and nobody gave.
    pub absent: Vec<UnresolvedVariable>,
    /// What the render was made of, if [`Input::explain`](crate::Input::explain) asks.
    pub explanation: Option<Box<Explanation>>,
    /// The number of the version that spoke: where a label or a mark has chosen one, or
    /// [`Input::numbered`](crate::Input::numbered) asks.
    pub version: Option<u64>,
}

/// A prompt that is rendered and not yet sent.
#[derive(Clone, Debug)]
pub struct ChatReady {
    /// What is sent.
    pub request: ChatRequest,
    /// Tool calls of the render that failed and left their defaults.
    pub failures: Vec<ToolFailure>,
    /// Variables of the request that the prompt neither declares nor uses.
    pub unused: Vec<UnusedVariable>,
    /// Variables that a prompt file uses and does not declare, and nobody gave.
    pub absent: Vec<UnresolvedVariable>,
    /// What the render was made of, if [`Input::explain`](crate::Input::explain) asks.
    pub explanation: Option<Box<Explanation>>,
    /// The number of the version that spoke: where a label or a mark has chosen one, or
    /// [`Input::numbered`](crate::Input::numbered) asks.
    pub version: Option<u64>,
}
