//! A model with the answers of a fixture, so that tests need no API key or network.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use futures_util::stream;
use quillet_core::chat::{
    Bytes4, ChatEvent, ChatModel, ChatRequest, ChatStream, FinishReason, ModelError,
    ModelErrorKind, TokenCounter, Usage,
};
use quillet_core::lock::lock;
use quillet_core::{BoxFuture, Message};

use super::fixture::Reply;
use crate::host::{ModelCapabilities, ModelHandle, ModelSource};

/// Maximum number of characters of the last message in the error for a missing answer.
const MOST_SHOWN: usize = 120;

/// Models that answer from a shared list, for any model name.
#[derive(Debug)]
pub(super) struct ScriptedModels {
    replies: Arc<[Reply]>,
    /// Number of replies that were used.
    used: AtomicUsize,
    /// The first error because of a missing reply.
    missed: Mutex<Option<String>>,
}

impl ScriptedModels {
    pub(super) fn new(replies: Arc<[Reply]>) -> Arc<Self> {
        Arc::new(ScriptedModels {
            replies,
            used: AtomicUsize::new(0),
            missed: Mutex::new(None),
        })
    }

    /// Returns the reply to a request: by pattern first, then in order.
    fn reply(&self, request: &ChatRequest) -> Result<&Reply, String> {
        let text = joined(&request.messages);
        for reply in self.replies.iter() {
            if let Some(when) = &reply.when
                && when.is_found(&text)?
            {
                return Ok(reply);
            }
        }
        // Relaxed is enough, because only the number matters, and each request gets a different
        // one.
        let used = self.used.fetch_add(1, Ordering::Relaxed);
        let mut in_order = self.replies.iter().filter(|reply| reply.when.is_none());
        in_order.nth(used).ok_or_else(|| self.missing(request))
    }

    fn missing(&self, request: &ChatRequest) -> String {
        let in_order = self.replies.iter().filter(|reply| reply.when.is_none());
        let last = request.messages.last();
        let last = last.map(|message| message.content.to_string());
        let last: String = last.unwrap_or_default().chars().take(MOST_SHOWN).collect();
        let asked = match in_order.count() {
            0 => "no rule in replies: fits the request".to_owned(),
            1 => "replies: has one answer, and the script sends another request".to_owned(),
            count => format!("replies: has {count} answers, and the script sends another request"),
        };
        format!("{asked}; its last message starts with {last:?}")
    }

    fn answer(&self, request: &ChatRequest) -> Result<Vec<ChatEvent>, ModelError> {
        let reply = self.reply(request).map_err(|why| {
            let mut missed = lock(&self.missed);
            // Only the first missing reply is stored, because later requests depend on its answer.
            missed.get_or_insert_with(|| why.clone());
            ModelError::new(ModelErrorKind::Configuration, why)
        })?;
        match &reply.error {
            Some(message) => Err(ModelError::new(ModelErrorKind::Refused, message.clone())),
            None => Ok(events(reply, request)),
        }
    }

    /// Returns the number of ordered replies that were not used.
    pub(super) fn unused(&self) -> usize {
        let in_order = self.replies.iter().filter(|reply| reply.when.is_none());
        in_order
            .count()
            // Requests beyond the list are counted too, so the counter may exceed its length.
            .saturating_sub(self.used.load(Ordering::Relaxed))
    }

    /// Returns the first error because of a missing reply.
    pub(super) fn missed(&self) -> Option<String> {
        // A poisoned lock is harmless, because the value is only replaced as a whole.
        let missed = lock(&self.missed);
        missed.clone()
    }
}

impl ModelSource for Arc<ScriptedModels> {
    fn model(&self, name: Option<&str>) -> Result<ModelHandle, String> {
        Ok(ModelHandle {
            model: Arc::new(ScriptedModel(self.clone())),
            name: name.map(str::to_owned),
            abilities: ModelCapabilities {
                tools: true,
                json_schema: true,
                json_object: true,
                ..ModelCapabilities::default()
            },
            // A fixed estimate, so that token counts in tests do not depend on a model.
            counter: Arc::new(Bytes4),
            window: None,
        })
    }
}

/// A model that answers from the shared list.
struct ScriptedModel(Arc<ScriptedModels>);

impl fmt::Debug for ScriptedModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ScriptedModel")
    }
}

impl ChatModel for ScriptedModel {
    fn describe(&self) -> String {
        "the fixture's replies".to_owned()
    }

    fn stream(&self, request: ChatRequest) -> BoxFuture<'_, Result<ChatStream, ModelError>> {
        Box::pin(async move {
            let events = self.0.answer(&request)?;
            let stream: ChatStream = Box::pin(stream::iter(events.into_iter().map(Ok)));
            Ok(stream)
        })
    }
}

/// Joins all messages as `role: content` lines, for patterns.
fn joined(messages: &[Message]) -> String {
    let line = |message: &Message| format!("{}: {}", message.role.as_str(), message.content);
    messages.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn events(reply: &Reply, request: &ChatRequest) -> Vec<ChatEvent> {
    let choice = 0;
    let mut events = vec![ChatEvent::Start {
        id: "fixture".to_owned(),
        model: request.model.clone().unwrap_or_else(|| "fixture".into()),
        // A constant instead of the clock, so that a test always gives the same result.
        created: 0,
    }];
    if !reply.thinking.is_empty() {
        let text = reply.thinking.clone();
        events.push(ChatEvent::Reasoning { choice, text });
    }
    // Sent in several chunks, so that the tested script receives a stream.
    let pieces = reply.text.split_inclusive(' ').map(str::to_owned);
    events.extend(pieces.map(|text| ChatEvent::Text { choice, text }));
    for (index, call) in (0..).zip(&reply.tool_calls) {
        events.push(ChatEvent::ToolCall {
            choice,
            index,
            id: Some(call.id.clone()),
            name: Some(call.name.clone()),
            arguments: call.arguments.clone(),
        });
    }
    let reason = reply.finish.unwrap_or(if reply.tool_calls.is_empty() {
        FinishReason::Stop
    } else {
        FinishReason::ToolCalls
    });
    events.push(ChatEvent::Finish {
        choice,
        reason,
        raw: reason.as_str().to_owned(),
    });
    let asked = request
        .messages
        .iter()
        .map(|message| Bytes4.count_message(message));
    events.push(ChatEvent::Usage(Usage {
        input_tokens: asked.sum(),
        output_tokens: Bytes4.count_text(&reply.text),
        ..Usage::default()
    }));
    events
}
