//! Outcomes of renders and chats.

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

/// Outcome of a successful render.
#[derive(Clone, Debug)]
pub struct RenderOutcome {
    /// The rendered text or messages.
    pub prompt: RenderedPrompt,
    /// The model selected by the prompt, if any.
    pub model: Option<String>,
    /// The model options.
    pub options: Arc<ChatOptions>,
    /// Failed tool calls that were replaced by their fallback values.
    pub failures: Vec<ToolFailure>,
    /// Number of tool calls, including failed calls.
    pub calls: usize,
    /// Whether the store is unavailable, so that shared variables may be stale.
    pub stale: bool,
    /// Duration including tool calls.
    pub time: Duration,
    /// Outcome of the dry run, if the prompt is a script.
    pub dry_run: Option<DryRun>,
    /// Variables of the request that the prompt neither declares nor uses.
    pub unused: Vec<UnusedVariable>,
    /// Variables that a prompt file uses without declaring them, and that have no value.
    pub absent: Vec<UnresolvedVariable>,
    /// Explanation of the render, if [`RenderInput::explain`](crate::RenderInput::explain) is set.
    pub explanation: Option<Box<Explanation>>,
    /// The rendered text of each template, in order, as segments with their origin. Filled if
    /// [`RenderInput::segments`](crate::RenderInput::segments) is set. This is the text before it
    /// is split into messages.
    pub segments: Vec<Vec<TextSegment>>,
    /// Version number of the prompt, if the request selected a version or
    /// [`RenderInput::numbered`](crate::RenderInput::numbered) is set.
    pub version: Option<u64>,
    /// Revision of the definition; `None` if the request contains the definition.
    pub revision: Option<Revision>,
}

/// A chat whose model has started to respond.
#[allow(missing_debug_implementations, reason = "holds a stream")]
pub struct ChatOutcome {
    /// The response. Dropping it cancels the call to the provider.
    pub stream: ChatStream,
    /// Failed tool calls of the render that were replaced by their fallback values.
    pub failures: Vec<ToolFailure>,
    /// Variables of the request that the prompt neither declares nor uses.
    pub unused: Vec<UnusedVariable>,
    /// Variables that a prompt file uses without declaring them, and that have no value.
    pub absent: Vec<UnresolvedVariable>,
    /// Explanation of the render, if [`RenderInput::explain`](crate::RenderInput::explain) is set.
    pub explanation: Option<Box<Explanation>>,
    /// Version number of the prompt, if the request selected a version or
    /// [`RenderInput::numbered`](crate::RenderInput::numbered) is set.
    pub version: Option<u64>,
}

/// A model request that is ready to be sent.
#[derive(Clone, Debug)]
pub struct ChatReady {
    /// The request to send.
    pub request: ChatRequest,
    /// Failed tool calls of the render that were replaced by their fallback values.
    pub failures: Vec<ToolFailure>,
    /// Variables of the request that the prompt neither declares nor uses.
    pub unused: Vec<UnusedVariable>,
    /// Variables that a prompt file uses without declaring them, and that have no value.
    pub absent: Vec<UnresolvedVariable>,
    /// Explanation of the render, if [`RenderInput::explain`](crate::RenderInput::explain) is set.
    pub explanation: Option<Box<Explanation>>,
    /// Version number of the prompt, if the request selected a version or
    /// [`RenderInput::numbered`](crate::RenderInput::numbered) is set.
    pub version: Option<u64>,
}
