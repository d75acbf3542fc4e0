//! Constant state of a run that its parts share.

use std::sync::Arc;

use quillet_core::chat::{ChatModel, ChatOptions, TokenCounter};
use quillet_core::trace::{OpenSpan, Tracer};

use crate::approval::Approver;
use crate::emit::Events;
use crate::{RunLimits, Window};

/// Constant values of a run.
pub(crate) struct RunContext {
    /// Id of the run.
    pub(crate) id: Arc<str>,
    /// The model.
    pub(crate) model: Arc<dyn ChatModel>,
    /// The model's name.
    pub(crate) model_name: Option<String>,
    /// Context window of the model.
    pub(crate) window: Window,
    /// The system prompt without the section about skills.
    pub(crate) system: String,
    /// Generation parameters.
    pub(crate) options: ChatOptions,
    /// Token counter.
    pub(crate) counter: Arc<dyn TokenCounter>,
    /// Limits.
    pub(crate) limits: RunLimits,
    /// Approver of tool calls.
    pub(crate) approver: Option<Arc<dyn Approver>>,
    /// Tracer.
    pub(crate) tracer: Tracer,
    /// The span of the run.
    pub(crate) span: OpenSpan,
    /// Event output.
    pub(crate) events: Events,
}
