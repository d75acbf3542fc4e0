//! One answer of the model, with its continuations, and without tools.

use quillet_core::chat::{ChatModel, ChatOptions, ChatRequest, FinishReason, Usage};
use quillet_core::{Message, MessageContent, Role};

use super::echo_filter::EchoFilter;
use super::listen::{StreamObserver, StreamedAnswer, VisibleDelta, listen};
use super::{CallError, ModelCall};
use crate::answer::{SplitAnswer, Splitter, Thinking};

/// What the model said in one answer.
#[derive(Clone, Debug, Default)]
pub(super) struct TurnResult {
    /// All of it.
    pub(super) raw: String,
    /// What is for the reader.
    pub(super) answer: String,
    /// What it thought, in words and by its provider.
    pub(super) thinking: String,
    pub(super) finish: FinishReason,
    pub(super) model: String,
    pub(super) usage: Usage,
    /// How often it was continued.
    pub(super) retries: u32,
}

/// Takes what the model says apart, and keeps both parts.
#[derive(Debug)]
pub(super) struct StreamSplitter {
    splitter: Splitter,
    heard: SplitAnswer,
}

impl StreamSplitter {
    pub(super) fn new(thinking: &Thinking) -> Self {
        StreamSplitter {
            splitter: Splitter::new(thinking),
            heard: SplitAnswer::default(),
        }
    }

    /// A piece of text; gives what can be shown of it.
    pub(super) fn text(&mut self, piece: &str) -> VisibleDelta {
        let split = self.splitter.push(piece);
        self.keep(&split);
        VisibleDelta::from(split)
    }

    fn keep(&mut self, split: &SplitAnswer) {
        self.heard.answer.push_str(&split.answer);
        self.heard.thinking.push_str(&split.thinking);
    }

    /// What was held back, and all that was heard.
    pub(super) fn finish(self) -> (VisibleDelta, SplitAnswer) {
        let rest = self.splitter.finish();
        let mut heard = self.heard;
        heard.answer.push_str(&rest.answer);
        heard.thinking.push_str(&rest.thinking);
        (VisibleDelta::from(rest), heard)
    }
}

/// Asks, and goes on where the limit on tokens cut the answer, if the settings say so.
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
            ear.text(&heard.refusal);
            self.raw.push_str(&heard.refusal);
        }
        self.raw.push_str(&heard.text);
        self.thinking.push_str(&heard.reasoning);
        self.finish = heard.finish.unwrap_or_default();
        self.model = heard.model;
        self.usage += heard.usage.unwrap_or_default();
    }

    /// What was said apart from what was thought.
    pub(super) fn settle(&mut self, split: SplitAnswer) {
        self.answer = split.answer;
        let thought = split.thinking.trim();
        if !self.thinking.is_empty() && !thought.is_empty() {
            self.thinking.push_str("\n\n");
        }
        self.thinking.push_str(thought);
    }
}

/// What the model is to go on from: the text of a last message of the assistant.
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

/// An error of a continuation: what was written before counts, too.
fn after(mut error: CallError, before: &str) -> CallError {
    if !before.is_empty() {
        let partial = error.partial.unwrap_or_default();
        error.partial = Some(format!("{before}{partial}"));
    }
    error
}
