//! Traces of chats that no run holds: a prompt that was sent, and what came of it.

use futures_util::StreamExt;
use futures_util::stream::unfold;
use quillet_core::chat::{ChatEvent, ChatRequest, ChatStream, ModelError};
use quillet_core::trace::{OpenSpan, Tracer};

use crate::PromptVersion;
use crate::answer::PartialTurn;
use crate::spans::{self, ModelSpan};
use crate::turn::take_up;

/// A chat on its way: two spans, as a run with one question of the model leaves them. One that is
/// dropped before its end is recorded as cancelled.
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
    /// Begins with what is about to be sent. Of a tracer that is off nothing is kept.
    #[must_use]
    pub fn begin(tracer: &Tracer, prompt: Option<&PromptVersion>, request: &ChatRequest) -> Self {
        if tracer.trace_id().is_none() {
            return ChatTrace(None);
        }
        let root = spans::chat(tracer, request.model.as_deref(), prompt);
        ChatTrace(Some(ChatSpans {
            model: ModelSpan::begin((tracer, root.id()), request),
            answer: PartialTurn::default(),
            root,
        }))
    }

    /// The model did not begin to answer.
    pub fn failed(self, error: &ModelError) {
        if let Some(mut open) = self.0 {
            open.fail(error);
        }
    }

    /// The same stream, of which the trace takes note.
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
        let _ = take_up(&mut self.answer, event);
    }

    fn end(&mut self) {
        self.model.answered(&self.answer);
        spans::set_usage(&self.root, self.answer.rest.usage);
    }

    fn fail(&mut self, error: &ModelError) {
        self.model.failed(error);
        self.root.fail(error);
    }
}
