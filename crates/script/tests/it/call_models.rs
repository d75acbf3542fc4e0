//! Models that answer by rules, as in the acceptance cases.

use std::sync::{Arc, Mutex};

use fancy_regex::Regex;
use futures_util::stream;
use quillet_core::chat::{
    Bytes4, ChatEvent, ChatModel, ChatRequest, ChatStream, FinishReason, ModelError, Usage,
};
use quillet_core::lock::lock;
use quillet_core::{BoxFuture, Message, MessageContent};
use quillet_script::host::{ModelCapabilities, ModelHandle};

/// The answer to requests whose messages match.
#[derive(Clone, Debug)]
pub(crate) struct Rule {
    pattern: Regex,
    events: Vec<Result<ChatEvent, ModelError>>,
}

impl Rule {
    /// Answers with this text.
    pub(crate) fn say(pattern: &str, text: &str) -> Self {
        Rule::end(pattern, text, FinishReason::Stop)
    }

    /// Answers with this text and finish reason.
    pub(crate) fn end(pattern: &str, text: &str, reason: FinishReason) -> Self {
        let characters: Vec<char> = text.chars().collect();
        let pieces = characters.chunks(3).map(String::from_iter);
        let pieces = pieces.map(|text| ChatEvent::Text { choice: 0, text });
        let mut events: Vec<ChatEvent> = pieces.collect();
        events.push(ChatEvent::Finish {
            choice: 0,
            reason,
            raw: reason.to_string(),
        });
        events.push(ChatEvent::Usage(Usage {
            input_tokens: 10,
            output_tokens: 2,
            ..Usage::default()
        }));
        Rule::events(pattern, events.into_iter().map(Ok).collect())
    }

    /// Answers with these events.
    pub(crate) fn events(pattern: &str, events: Vec<Result<ChatEvent, ModelError>>) -> Self {
        let pattern = Regex::new(&format!("(?s){pattern}")).unwrap();
        Rule { pattern, events }
    }
}

/// A model that answers by the first rule that matches, else `ECHO(<last message>)`.
#[derive(Debug)]
pub(crate) struct Scripted {
    rules: Vec<Rule>,
    asked: Mutex<Vec<ChatRequest>>,
}

impl Scripted {
    /// Creates a model with these rules.
    pub(crate) fn new(rules: impl IntoIterator<Item = Rule>) -> Arc<Self> {
        Arc::new(Scripted {
            rules: rules.into_iter().collect(),
            asked: Mutex::default(),
        })
    }

    /// Returns a handle with these capabilities.
    pub(crate) fn answering(self: &Arc<Self>, abilities: ModelCapabilities) -> ModelHandle {
        ModelHandle {
            model: self.clone(),
            name: None,
            abilities,
            counter: Arc::new(Bytes4),
            window: None,
        }
    }

    /// Returns the requests so far.
    pub(crate) fn asked(&self) -> Vec<ChatRequest> {
        let asked = lock(&self.asked);
        asked.clone()
    }

    /// Returns the messages of a request as lines `role: content`.
    pub(crate) fn text_of(&self, request: usize) -> String {
        lines(&self.asked()[request].messages)
    }
}

fn text(message: &Message) -> &str {
    match &message.content {
        MessageContent::Text(text) => text,
        MessageContent::Parts(_) => "",
    }
}

fn lines(messages: &[Message]) -> String {
    let line = |message: &Message| format!("{}: {}", message.role.as_str(), text(message));
    messages.iter().map(line).collect::<Vec<_>>().join("\n")
}

impl ChatModel for Scripted {
    fn describe(&self) -> String {
        "scripted".to_owned()
    }

    fn stream(&self, request: ChatRequest) -> BoxFuture<'_, Result<ChatStream, ModelError>> {
        let asked = lines(&request.messages);
        let last = request.messages.last().map(text).unwrap_or_default();
        let rule = self.rules.iter();
        let mut rule = rule.filter(|rule| rule.pattern.is_match(&asked).unwrap());
        let echo = || Rule::say(".", &format!("ECHO({last})")).events;
        let events = rule.next().map_or_else(echo, |rule| rule.events.clone());
        let mut requests = lock(&self.asked);
        requests.push(request);
        Box::pin(async move { Ok(Box::pin(stream::iter(events)) as ChatStream) })
    }
}
