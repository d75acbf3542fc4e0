//! Sends a request and receives the streamed answer.

use futures_util::StreamExt;
use quillet_core::chat::{
    ChatEvent, ChatModel, ChatRequest, FinishReason, ModelError, ModelErrorKind, Usage,
};

use super::echo_filter::EchoFilter;
use super::protocol::ToolCallFilter;
use super::stream_splitter::{StreamSplitter, VisibleDelta};
use super::{CallError, CallEvent, CallObserver, CallSettings};
use crate::ErrorKind;

/// Maximum size of an answer, including its thinking, in bytes. A model that never stops must not
/// fill the memory, and provider limits are usually far lower.
const MOST_BYTES: usize = 8 << 20;

/// The answer received so far.
#[derive(Debug, Default)]
pub(super) struct StreamedAnswer {
    pub(super) id: String,
    pub(super) model: String,
    pub(super) text: String,
    pub(super) reasoning: String,
    pub(super) refusal: String,
    pub(super) finish: Option<FinishReason>,
    pub(super) usage: Option<Usage>,
}

/// Reports deltas to the observer, and stores the part of the answer that was already reported.
pub(super) struct StreamObserver<'a> {
    pub(super) progress: &'a dyn CallObserver,
    streams: bool,
    shows_thinking: bool,
    /// Whether the answer is reported only when it is complete.
    pub(super) waits: bool,
    /// Hides tool calls in text form.
    pub(super) screen: Option<ToolCallFilter>,
    pub(super) retry: u32,
    /// The visible answer so far.
    visible: String,
}

impl<'a> StreamObserver<'a> {
    pub(super) fn new(progress: &'a dyn CallObserver, settings: &CallSettings) -> Self {
        StreamObserver {
            progress,
            streams: settings.stream.unwrap_or(true),
            shows_thinking: settings.thinking.visible != Some(false),
            waits: false,
            screen: None,
            retry: 0,
            visible: String::new(),
        }
    }

    /// Discards the reported text. The observer is notified only if there was any.
    pub(super) async fn again(&mut self, why: &str) -> Result<(), CallError> {
        self.retry = 0;
        if std::mem::take(&mut self.visible).is_empty() {
            return Ok(());
        }
        Ok(self.progress.event(CallEvent::Again { why }).await?)
    }

    /// Reports held text that turned out not to be a tool call.
    pub(super) async fn unscreen(&mut self) -> Result<(), CallError> {
        let Some(screen) = self.screen.take() else {
            return Ok(());
        };
        let shown = VisibleDelta {
            answer: screen.finish(),
            thinking: String::new(),
        };
        self.show(shown, "").await
    }

    /// Reports an answer that had to be complete first.
    pub(super) async fn show_complete(&mut self, content: &str) -> Result<(), CallError> {
        if !std::mem::take(&mut self.waits) {
            return Ok(());
        }
        let shown = VisibleDelta {
            answer: content.to_owned(),
            thinking: String::new(),
        };
        self.show(shown, "").await
    }

    pub(super) async fn show(
        &mut self,
        mut shown: VisibleDelta,
        id: &str,
    ) -> Result<(), CallError> {
        if !self.streams {
            return Ok(());
        }
        if let Some(screen) = &mut self.screen {
            shown.answer = screen.push(&shown.answer);
        }
        if !shown.thinking.is_empty() {
            self.think(&shown.thinking).await?;
        }
        if shown.answer.is_empty() || self.waits {
            return Ok(());
        }
        self.visible.push_str(&shown.answer);
        let chunk = CallEvent::Chunk {
            text: &shown.answer,
            content: &self.visible,
            retry: self.retry,
            id,
        };
        Ok(self.progress.event(chunk).await?)
    }

    pub(super) async fn think(&self, piece: &str) -> Result<(), CallError> {
        if !self.streams || !self.shows_thinking {
            return Ok(());
        }
        Ok(self.progress.event(CallEvent::Thinking(piece)).await?)
    }
}

/// Sends a request and receives the whole answer. The `partial` of an error is the text so far.
pub(super) async fn listen(
    model: &dyn ChatModel,
    request: ChatRequest,
    mut echo: EchoFilter,
    ear: &mut StreamSplitter,
    telling: &mut StreamObserver<'_>,
) -> Result<StreamedAnswer, CallError> {
    telling.progress.event(CallEvent::Request(&request)).await?;
    let mut stream = model.stream(request).await?;
    let mut heard = StreamedAnswer::default();
    while let Some(event) = stream.next().await {
        match event.map_err(|error| failed(error, &heard))? {
            ChatEvent::Text { choice: 0, text } => {
                let piece = echo.push(&text);
                heard.emit_delta(&piece, ear, telling).await?;
            }
            ChatEvent::Reasoning { choice: 0, text } => {
                heard.reasoning.push_str(&text);
                telling.think(&text).await?;
            }
            other => heard.note(other),
        }
        if heard.text.len() + heard.reasoning.len() > MOST_BYTES {
            return Err(too_long(&heard));
        }
    }
    heard.emit_delta(&echo.end(), ear, telling).await?;
    match heard.finish {
        Some(_) => Ok(heard),
        None => Err(failed(cut(), &heard)),
    }
}

impl StreamedAnswer {
    async fn emit_delta(
        &mut self,
        piece: &str,
        ear: &mut StreamSplitter,
        telling: &mut StreamObserver<'_>,
    ) -> Result<(), CallError> {
        if piece.is_empty() {
            return Ok(());
        }
        self.text.push_str(piece);
        let shown = ear.text(piece);
        telling.show(shown, &self.id).await
    }

    fn note(&mut self, event: ChatEvent) {
        match event {
            ChatEvent::Start { id, model, .. } => (self.id, self.model) = (id, model),
            ChatEvent::Refusal { choice: 0, text } => self.refusal.push_str(&text),
            ChatEvent::Finish {
                choice: 0, reason, ..
            } => self.finish = Some(reason),
            ChatEvent::Usage(usage) => self.usage = Some(usage),
            _ => {}
        }
    }
}

fn failed(error: ModelError, heard: &StreamedAnswer) -> CallError {
    CallError::from(error).partial(&heard.text)
}

fn cut() -> ModelError {
    let message = "truncated answer: the stream closed before its last event";
    ModelError::new(ModelErrorKind::Cut, message)
}

fn too_long(heard: &StreamedAnswer) -> CallError {
    let message = format!("the answer is longer than {MOST_BYTES} bytes");
    CallError::new(ErrorKind::Limit, message).partial(&heard.text)
}
