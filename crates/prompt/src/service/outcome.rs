//! Results of the service.

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
    /// Whether the store is unavailable, so that shared variables may be stale.
    pub stale: bool,
    /// Duration including tool calls.
    pub time: Duration,
    /// For a script: the requests that it would make, as far as known.
    pub dry_run: Option<DryRun>,
    /// Variables of the request that the prompt neither declares nor uses.
    pub unused: Vec<UnusedVariable>,
    /// Variables that a prompt file uses without declaring them, and that have no value.
    pub absent: Vec<UnresolvedVariable>,
    /// Explanation of the render, if [`Input::explain`](crate::Input::explain) is set.
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
    /// Variables that a prompt file uses without declaring them, and that have no value.
    pub absent: Vec<UnresolvedVariable>,
    /// Explanation of the render, if [`Input::explain`](crate::Input::explain) is set.
    pub explanation: Option<Box<Explanation>>,
    /// The number of the version that spoke: where a label or a mark has chosen one, or
    /// [`Input::numbered`](crate::Input::numbered) asks.
    pub version: Option<u64>,
}

/// A prompt that is rendered and not yet sent.
#[derive(Clone, Debug)]
pub struct ChatReady {
    /// Messages to send.
    pub request: ChatRequest,
    /// Tool calls of the render that failed and left their defaults.
    pub failures: Vec<ToolFailure>,
    /// Variables of the request that the prompt neither declares nor uses.
    pub unused: Vec<UnusedVariable>,
    /// Variables that a prompt file uses without declaring them, and that have no value.
    pub absent: Vec<UnresolvedVariable>,
    /// Explanation of the render, if [`Input::explain`](crate::Input::explain) is set.
    pub explanation: Option<Box<Explanation>>,
    /// The number of the version that spoke: where a label or a mark has chosen one, or
    /// [`Input::numbered`](crate::Input::numbered) asks.
    pub version: Option<u64>,
}
