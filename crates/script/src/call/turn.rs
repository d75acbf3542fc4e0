//! One answer of a model with its continuations, without tools.

use quillet_core::chat::{ChatModel, ChatOptions, ChatRequest, FinishReason, Usage};
use quillet_core::{Message, MessageContent, Role};

use super::echo_filter::EchoFilter;
use super::listen::{StreamObserver, StreamedAnswer, listen};
use super::stream_splitter::StreamSplitter;
use super::{CallError, ModelCall};
use crate::answer::SplitAnswer;

/// The text of one answer.
#[derive(Clone, Debug, Default)]
pub(super) struct TurnResult {
    /// The complete text.
    pub(super) raw: String,
    /// The visible answer.
    pub(super) answer: String,
    /// The thinking, both in the text and from the provider's own field.
    pub(super) thinking: String,
    pub(super) finish: FinishReason,
    pub(super) model: String,
    pub(super) usage: Usage,
    /// Number of continuations.
    pub(super) retries: u32,
}

/// Requests an answer, and continues it at the token limit if the settings allow that.
pub(super) async fn take(
    model: &dyn ChatModel,
    ask: &ModelCall,
    options: &ChatOptions,
    mut messages: Vec<Message>,
    continues: bool,
    telling: &mut StreamObserver<'_>,
) -> Result<TurnResult, CallError> {
    let mut said = TurnResult::default();
    let mut ear = StreamSplitter::new(&ask.settings.thinking);
    let begun = messages.len();
    let start = beginning(&messages).to_owned();
    loop {
        let echo = EchoFilter::of(beginning(&messages));
        let request = ChatRequest {
            model: ask.model.name.clone(),
            messages: messages.clone(),
            options: options.clone(),
        };
        let heard = listen(model, request, echo, &mut ear, telling).await;
        let heard = heard.map_err(|error| after(error, &said.raw))?;
        let goes_on = continues
            && heard.finish == Some(FinishReason::Length)
            && said.retries < ask.settings.retries
            && !heard.text.is_empty();
        said.note(heard, &mut ear);
        if !goes_on {
            break;
        }
        said.retries += 1;
        telling.retry = said.retries;
        messages.truncate(begun);
        if !start.is_empty() {
            messages.pop();
        }
        let whole = format!("{start}{}", said.raw);
        messages.push(Message::new(Role::Assistant, whole));
    }
    let (shown, split) = ear.finish();
    telling.show(shown, "").await?;
    said.settle(split);
    Ok(said)
}

impl TurnResult {
    fn note(&mut self, heard: StreamedAnswer, ear: &mut StreamSplitter) {
        if heard.text.is_empty() && !heard.refusal.is_empty() {
            // For users, a refusal is the answer, so it is displayed and stored like text.
            ear.text(&heard.refusal);
            self.raw.push_str(&heard.refusal);
        }
        self.raw.push_str(&heard.text);
        self.thinking.push_str(&heard.reasoning);
        self.finish = heard.finish.unwrap_or_default();
        self.model = heard.model;
        self.usage += heard.usage.unwrap_or_default();
    }

    /// Stores the separated answer and thinking.
    pub(super) fn settle(&mut self, split: SplitAnswer) {
        self.answer = split.answer;
        let thought = split.thinking.trim();
        if !self.thinking.is_empty() && !thought.is_empty() {
            self.thinking.push_str("\n\n");
        }
        self.thinking.push_str(thought);
    }
}

/// Returns the text that the model should continue: that of a final assistant message.
pub(super) fn beginning(messages: &[Message]) -> &str {
    match messages.last() {
        Some(Message {
            role: Role::Assistant,
            content: MessageContent::Text(text),
            ..
        }) => text,
        _ => "",
    }
}

/// Adds the text before a continuation to the error of the continuation.
fn after(mut error: CallError, before: &str) -> CallError {
    if !before.is_empty() {
        let partial = error.partial.unwrap_or_default();
        error.partial = Some(format!("{before}{partial}"));
    }
    error
}
