//! Traces of chats outside of runs, with a rendered prompt and its answer.

use futures_util::StreamExt;
use futures_util::stream::unfold;
use quillet_core::chat::{ChatEvent, ChatRequest, ChatStream, ModelError};
use quillet_core::trace::{OpenSpan, Tracer};

use crate::PromptVersion;
use crate::answer::PartialTurn;
use crate::spans::{self, ModelSpan};
use crate::turn::apply_event;

/// Trace of a chat, with two spans like a run with one model call. If it is dropped before the chat
/// ends, the chat is recorded as cancelled.
#[expect(
    missing_debug_implementations,
    reason = "holds what was answered so far"
)]
pub struct ChatTrace(Option<ChatSpans>);

struct ChatSpans {
    model: ModelSpan,
    answer: PartialTurn,
    root: OpenSpan,
}

impl ChatTrace {
    /// Starts the trace of a request. Does nothing if the tracer is off.
    #[must_use]
    pub fn begin(tracer: &Tracer, prompt: Option<&PromptVersion>, request: &ChatRequest) -> Self {
        if tracer.trace_id().is_none() {
            return ChatTrace(None);
        }
        let root = spans::chat(tracer, request.model.as_deref(), prompt);
        ChatTrace(Some(ChatSpans {
            model: ModelSpan::begin(tracer, root.id(), request),
            answer: PartialTurn::default(),
            root,
        }))
    }

    /// Records that the model returned an error instead of a stream.
    pub fn failed(self, error: &ModelError) {
        if let Some(mut open) = self.0 {
            open.fail(error);
        }
    }

    /// Wraps the stream so that the trace records it.
    #[must_use]
    pub fn watch(self, stream: ChatStream) -> ChatStream {
        let Some(open) = self.0 else { return stream };
        Box::pin(unfold(Some((stream, open)), |state| async move {
            let (mut stream, mut open) = state?;
            match stream.next().await {
                Some(Ok(event)) => {
                    open.take(event.clone());
                    Some((Ok(event), Some((stream, open))))
                }
                Some(Err(error)) => {
                    open.fail(&error);
                    // `None` as the next state ends the stream after its first error.
                    Some((Err(error), None))
                }
                None => {
                    open.end();
                    None
                }
            }
        }))
    }
}

impl ChatSpans {
    fn take(&mut self, event: ChatEvent) {
        self.model.on_delta();
        let _ = apply_event(&mut self.answer, event);
    }

    fn end(&mut self) {
        self.model.record_answer(&self.answer);
        spans::set_usage(&self.root, self.answer.rest.usage);
    }

    fn fail(&mut self, error: &ModelError) {
        self.model.failed(error);
        self.root.fail(error);
    }
}
