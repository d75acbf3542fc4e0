//! The course of a logical call: ask, continue, read, and ask again.

use quillet_core::chat::{ChatRequest, FinishReason};
use quillet_core::{Content, Message, Role};

use super::echo::Echo;
use super::guard::Guarded;
use super::listen::{Heard, Shown, Sink, Telling, listen};
use super::{Answer, Ask, CallError, Progress};

/// Asks a model, and gives its answer in the form that was asked for.
///
/// # Errors
/// The model or its provider failed or took too long, the answer does not have its form, or
/// whoever watches ended the call. What had been written is in the error.
pub async fn ask(ask: Ask, progress: &dyn Progress) -> Result<Answer, CallError> {
    let mut call = Call::new(&ask, progress);
    let text = call.answer(ask.messages.clone()).await?;
    let mut answer = call.done;
    answer.content.clone_from(&text);
    answer.original = text;
    Ok(answer)
}

/// A call on its way.
struct Call<'a> {
    ask: &'a Ask,
    model: Guarded,
    progress: &'a dyn Progress,
    /// What is known of the answer until now.
    done: Answer,
}

impl<'a> Call<'a> {
    fn new(ask: &'a Ask, progress: &'a dyn Progress) -> Self {
        Call {
            ask,
            model: Guarded::new(ask.model.model.clone(), &ask.settings),
            progress,
            done: Answer::default(),
        }
    }

    fn streams(&self) -> bool {
        self.ask.settings.stream.unwrap_or(true)
    }

    /// One answer, with its continuations.
    async fn answer(&mut self, messages: Vec<Message>) -> Result<String, CallError> {
        let settings = &self.ask.settings;
        let begun = messages.len();
        let mut telling = Telling {
            progress: self.progress,
            streams: self.streams(),
            shows_thinking: settings.thinking.visible != Some(false),
            retry: 0,
            visible: String::new(),
        };
        let mut text = String::new();
        let mut messages = messages;
        loop {
            let beginning = beginning(&messages).to_owned();
            let request = self.request(messages.clone());
            let echo = Echo::of(&beginning);
            let mut sink = Plain;
            let heard = listen(&self.model, request, echo, &mut sink, &mut telling);
            let heard = heard.await.map_err(|error| after(error, &text))?;
            text.push_str(heard.said());
            let goes_on = settings.continues
                && heard.finish == Some(FinishReason::Length)
                && telling.retry < settings.retries
                && !heard.text.is_empty();
            self.note(&heard);
            if !goes_on {
                break;
            }
            telling.retry += 1;
            messages.truncate(begun);
            add_beginning(&mut messages, &text);
        }
        self.done.retries += telling.retry;
        Ok(text)
    }

    fn request(&self, messages: Vec<Message>) -> ChatRequest {
        let mut options = self.ask.settings.options.clone();
        if !self.streams() {
            options.extra.insert("stream".to_owned(), false.into());
        }
        let model = self.ask.model.name.clone();
        ChatRequest {
            model,
            messages,
            options,
        }
    }

    fn note(&mut self, heard: &Heard) {
        let done = &mut self.done;
        done.finish_reason = heard.finish.unwrap_or_default();
        done.model.clone_from(&heard.model);
        done.usage += heard.usage.unwrap_or_default();
        if !heard.reasoning.is_empty() {
            let thinking = done.thinking.get_or_insert_default();
            thinking.push_str(&heard.reasoning);
        }
    }
}

/// All text is the answer.
struct Plain;

impl Sink for Plain {
    fn text(&mut self, piece: &str) -> Shown {
        Shown {
            answer: piece.to_owned(),
            thinking: String::new(),
        }
    }
}

impl Heard {
    fn said(&self) -> &str {
        match self.text.is_empty() {
            true => &self.refusal,
            false => &self.text,
        }
    }
}

/// What the model is to go on from: the text of a last message of the assistant.
fn beginning(messages: &[Message]) -> &str {
    match messages.last() {
        Some(Message {
            role: Role::Assistant,
            content: Content::Text(text),
            ..
        }) => text,
        _ => "",
    }
}

/// Puts what was said behind the assistant's last message, or makes one of it.
fn add_beginning(messages: &mut Vec<Message>, text: &str) {
    let begun = beginning(messages);
    if begun.is_empty() {
        messages.push(Message::new(Role::Assistant, text));
        return;
    }
    let whole = format!("{begun}{text}");
    if let Some(last) = messages.last_mut() {
        *last = Message::new(Role::Assistant, whole);
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
