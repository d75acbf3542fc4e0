//! What every part of a run sees.

use std::sync::Arc;

use quillet_core::chat::{ChatModel, ChatOptions, TokenCounter};
use quillet_core::trace::{OpenSpan, Tracer};

use crate::approval::Approver;
use crate::emit::Events;
use crate::{RunLimits, Window};

/// The parts of a run that stay as they are while it goes.
pub(crate) struct RunContext {
    /// Id of the run.
    pub(crate) id: Arc<str>,
    /// The model.
    pub(crate) model: Arc<dyn ChatModel>,
    /// The model's name.
    pub(crate) model_name: Option<String>,
    /// What fits into the model.
    pub(crate) window: Window,
    /// The system prompt, without the part about skills.
    pub(crate) system: String,
    /// How to answer.
    pub(crate) options: ChatOptions,
    /// How tokens are counted.
    pub(crate) counter: Arc<dyn TokenCounter>,
    /// Bounds.
    pub(crate) limits: RunLimits,
    /// Who is asked before a tool is called.
    pub(crate) approver: Option<Arc<dyn Approver>>,
    /// Where spans go.
    pub(crate) tracer: Tracer,
    /// The span of the run.
    pub(crate) span: OpenSpan,
    /// Where events go.
    pub(crate) events: Events,
}
