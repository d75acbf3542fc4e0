//! One request and its answer, as it comes.

use futures_util::StreamExt;
use quillet_core::chat::{
    ChatEvent, ChatModel, ChatRequest, FinishReason, ModelError, ModelErrorKind, Usage,
};

use super::echo_filter::EchoFilter;
use super::protocol::ToolCallFilter;
use super::stream_splitter::{StreamSplitter, VisibleDelta};
use super::{CallError, CallEvent, CallObserver, CallSettings};
use crate::ErrorKind;

/// Bytes of one answer, thinking included: far above what any model writes immediately.
// A model that never stops must not fill the memory; providers usually limit answers far below
// this.
const MOST_BYTES: usize = 8 << 20;

/// What one answer has said until now.
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

/// The listener for pieces of an answer, and how far the answer had come before.
pub(super) struct StreamObserver<'a> {
    pub(super) progress: &'a dyn CallObserver,
    streams: bool,
    shows_thinking: bool,
    /// The answer is shown when it is whole.
    pub(super) waits: bool,
    /// Keeps calls in words from being shown.
    pub(super) screen: Option<ToolCallFilter>,
    pub(super) retry: u32,
    /// The visible answer until now.
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

    /// What was shown does not count; nothing is said where nothing was.
    pub(super) async fn again(&mut self, why: &str) -> Result<(), CallError> {
        self.retry = 0;
        if std::mem::take(&mut self.visible).is_empty() {
            return Ok(());
        }
        Ok(self.progress.event(CallEvent::Again { why }).await?)
    }

    /// Shows what might have become a call in words, and did not.
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

    /// Shows an answer that had to be whole.
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

/// Asks, and listens to the end. What an error leaves unsaid is in its `partial`.
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
