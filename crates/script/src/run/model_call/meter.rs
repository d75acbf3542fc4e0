//! Counts the usage and cost of model responses for all callers: holes, repairs, tools.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::{Stream, StreamExt};
use quillet_core::chat::{
    ChatEvent, ChatModel, ChatRequest, ChatStream, ModelError, TokenCounter, Usage,
};
use quillet_core::{BoxFuture, Message};

use crate::run::instance::RunShared;

/// A model whose tokens count against the budget of a run.
#[derive(Debug)]
pub(super) struct MeteredModel {
    pub(super) inner: Arc<dyn ChatModel>,
    pub(super) counter: Arc<dyn TokenCounter>,
    pub(super) world: Arc<RunShared>,
}

impl ChatModel for MeteredModel {
    fn describe(&self) -> String {
        self.inner.describe()
    }

    fn is_configured(&self) -> bool {
        self.inner.is_configured()
    }

    fn stream(&self, request: ChatRequest) -> BoxFuture<'_, Result<ChatStream, ModelError>> {
        let limits = self.world.budget.limits();
        // Counting needs the vocabulary of the model, so it is done only if a limit depends on it.
        let counts = limits.tokens.is_some() || limits.cost.is_some();
        let meter = AnswerMeter {
            world: self.world.clone(),
            counter: self.counter.clone(),
            model: request.model.clone(),
            asked: counts.then(|| request.messages.clone()),
            said: String::new(),
            told: None,
        };
        Box::pin(async move {
            let events = self.inner.stream(request).await?;
            let metered: ChatStream = Box::pin(MeteredStream { events, meter });
            Ok(metered)
        })
    }
}

/// Cost of one response. It is recorded on drop, so that a truncated response is counted too.
struct AnswerMeter {
    world: Arc<RunShared>,
    counter: Arc<dyn TokenCounter>,
    model: Option<String>,
    /// The request, if its tokens may have to be counted.
    asked: Option<Vec<Message>>,
    said: String,
    /// Usage reported by the provider. It takes precedence over the count here.
    told: Option<Usage>,
}

impl AnswerMeter {
    fn count_event(&mut self, event: &ChatEvent) {
        match event {
            ChatEvent::Text { text, .. }
            | ChatEvent::Reasoning { text, .. }
            | ChatEvent::Refusal { text, .. } => self.said.push_str(text),
            ChatEvent::ToolCall { arguments, .. } => self.said.push_str(arguments),
            ChatEvent::Usage(usage) => self.told = Some(*usage),
            _ => {}
        }
    }
}

impl Drop for AnswerMeter {
    fn drop(&mut self) {
        let counted = || {
            let asked = self.asked.as_ref()?.iter();
            Some(Usage {
                input_tokens: asked
                    .map(|message| self.counter.count_message(message))
                    .sum(),
                output_tokens: self.counter.count_text(&self.said),
                ..Usage::default()
            })
        };
        let Some(usage) = self.told.or_else(counted) else {
            return;
        };
        let model = self.model.as_deref().unwrap_or_default();
        let cost = self.world.engine.models.cost(model, &usage);
        self.world.budget.spend(&usage, cost);
    }
}

struct MeteredStream {
    events: ChatStream,
    meter: AnswerMeter,
}

impl Stream for MeteredStream {
    type Item = Result<ChatEvent, ModelError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let next = self.events.poll_next_unpin(context);
        if let Poll::Ready(Some(Ok(event))) = &next {
            self.meter.count_event(event);
        }
        next
    }
}
