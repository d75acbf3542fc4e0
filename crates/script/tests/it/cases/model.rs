//! The model of a case: it answers by rules over the whole conversation and records its requests.

use std::sync::{Arc, Mutex};

use fancy_regex::Regex;
use futures_util::{StreamExt, stream};
use quillet_core::BoxFuture;
use quillet_core::chat::{
    Bytes4, ChatEvent, ChatModel, ChatRequest, ChatStream, FinishReason, ModelError,
    ModelErrorKind, Usage,
};
use quillet_core::{Message, MessageContent};
use quillet_script::host::{self, ModelHandle, ModelSource};

use super::case::{Abilities, Rule};

/// A model that answers by rules.
#[derive(Debug)]
pub(super) struct Scripted {
    /// Price in US dollars per million tokens.
    pub(super) price: Option<f64>,
    rules: Vec<(Regex, Rule)>,
    abilities: Abilities,
    /// Whether answers are sent in chunks of three characters.
    pieces: bool,
    requests: Mutex<Vec<ChatRequest>>,
}

impl Scripted {
    pub(super) fn new(rules: &[Rule], abilities: Abilities, pieces: bool) -> Result<Self, String> {
        let rule = |rule: &Rule| {
            let pattern = format!("(?s){}", rule.pattern);
            let pattern = Regex::new(&pattern).map_err(|error| error.to_string())?;
            Ok::<_, String>((pattern, rule.clone()))
        };
        Ok(Scripted {
            price: None,
            rules: rules.iter().map(rule).collect::<Result<_, _>>()?,
            abilities,
            pieces,
            requests: Mutex::default(),
        })
    }

    /// Returns the recorded requests in order.
    pub(super) fn requests(&self) -> Vec<ChatRequest> {
        self.requests.lock().expect("no test panics here").clone()
    }

    fn answer(&self, request: &ChatRequest) -> Rule {
        let text = joined(&request.messages);
        let fits = |(pattern, _): &&(Regex, Rule)| pattern.is_match(&text).unwrap_or(false);
        if let Some((_, rule)) = self.rules.iter().find(fits) {
            return rule.clone();
        }
        let last = request.messages.last();
        Rule {
            pattern: String::new(),
            reply: format!("ECHO({})", last.map(content_of).unwrap_or_default()),
            finish: None,
            thinking: String::new(),
            tool_calls: Vec::new(),
            fails: None,
            cut: false,
            hangs: false,
        }
    }

    fn pieces(&self, text: &str) -> Vec<String> {
        if !self.pieces {
            return vec![text.to_owned()];
        }
        let characters: Vec<char> = text.chars().collect();
        characters.chunks(3).map(String::from_iter).collect()
    }

    fn events(&self, rule: &Rule) -> Vec<Result<ChatEvent, ModelError>> {
        let start = ChatEvent::Start {
            id: "reply".into(),
            model: "scripted".into(),
            created: 0,
        };
        let mut events = vec![Ok(start)];
        let thought = self.pieces(&rule.thinking).into_iter();
        events.extend(thought.map(|text| Ok(ChatEvent::Reasoning { choice: 0, text })));
        let said = self.pieces(&rule.reply).into_iter();
        events.extend(said.map(|text| Ok(ChatEvent::Text { choice: 0, text })));
        events.extend(rule.tool_calls.iter().zip(0..).map(|(call, index)| {
            Ok(ChatEvent::ToolCall {
                choice: 0,
                index,
                id: Some(format!("call-{index}")),
                name: Some(call.name.clone()),
                arguments: call.arguments.to_string(),
            })
        }));
        if rule.cut {
            let error = ModelError::new(ModelErrorKind::Cut, "the stream ended in the middle");
            events.push(Err(error));
        } else if !rule.hangs {
            events.push(Ok(finish(rule)));
        }
        events
    }
}

fn finish(rule: &Rule) -> ChatEvent {
    let (reason, raw) = match rule.finish.as_deref() {
        Some("length") => (FinishReason::Length, "length"),
        Some("content_filter") => (FinishReason::ContentFilter, "content_filter"),
        _ if rule.tool_calls.is_empty() => (FinishReason::Stop, "stop"),
        _ => (FinishReason::ToolCalls, "tool_calls"),
    };
    ChatEvent::Finish {
        choice: 0,
        reason,
        raw: raw.to_owned(),
    }
}

/// Formats a conversation as lines `role: content`.
pub(super) fn joined(messages: &[Message]) -> String {
    let line = |message: &Message| format!("{}: {}", message.role.as_str(), content_of(message));
    let lines: Vec<String> = messages.iter().map(line).collect();
    lines.join("\n")
}

/// Returns the text of a message.
pub(super) fn content_of(message: &Message) -> String {
    match &message.content {
        MessageContent::Text(text) => text.clone(),
        parts => serde_json::to_string(parts).expect("parts can be written"),
    }
}

impl ChatModel for Scripted {
    fn describe(&self) -> String {
        "scripted".to_owned()
    }

    fn stream(&self, request: ChatRequest) -> BoxFuture<'_, Result<ChatStream, ModelError>> {
        let rule = self.answer(&request);
        let mut requests = self.requests.lock().expect("no test panics here");
        requests.push(request);
        drop(requests);
        Box::pin(async move {
            if let Some(code) = &rule.fails {
                let text = format!("the provider failed with {code}");
                return Err(ModelError::new(kind_of(code), text));
            }
            let events = stream::iter(self.events(&rule));
            Ok(if rule.hangs {
                events.chain(stream::pending()).boxed()
            } else {
                events.boxed()
            })
        })
    }
}

fn kind_of(code: &str) -> ModelErrorKind {
    let kinds = [
        ModelErrorKind::Connect,
        ModelErrorKind::RateLimited,
        ModelErrorKind::Auth,
        ModelErrorKind::ContextLength,
        ModelErrorKind::Provider,
    ];
    let kind = kinds.into_iter().find(|kind| kind.code() == code);
    kind.unwrap_or(ModelErrorKind::Provider)
}

/// The scripted model under every name except `nobody`.
#[derive(Clone, Debug)]
pub(super) struct OneModel(pub(super) Arc<Scripted>);

impl ModelSource for OneModel {
    #[allow(clippy::cast_precision_loss)]
    fn cost(&self, _: &str, usage: &Usage) -> Option<f64> {
        Some(usage.total_tokens() as f64 * self.0.price? / 1e6)
    }

    fn model(&self, name: Option<&str>) -> Result<ModelHandle, String> {
        if name.is_some_and(|name| name.ends_with("nobody")) {
            return Err("there is no model `nobody`".to_owned());
        }
        let abilities = self.0.abilities;
        Ok(ModelHandle {
            model: self.0.clone(),
            name: name.map(str::to_owned),
            abilities: host::ModelCapabilities {
                tools: abilities.tools,
                json_schema: abilities.json_schema,
                json_object: abilities.json_object,
                logit_bias: abilities.logit_bias,
                continues: abilities.continues,
            },
            counter: Arc::new(Bytes4),
            window: None,
        })
    }
}
