//! The contract with language models: one request, one stream of events.
//!
//! A whole reply is the folded stream ([`Reply::fold`]); there is no second path.

use std::fmt;
use std::pin::Pin;
use std::time::Duration;

use futures_core::Stream;
use serde::{Deserialize, Serialize};

use crate::{BoxFuture, Message};

/// What a model is asked.
#[derive(Clone, Debug, Default)]
pub struct ChatRequest {
    /// The model's name; the implementation's default where `None`.
    pub model: Option<String>,
    /// The conversation, oldest first.
    pub messages: Vec<Message>,
    /// How to answer.
    pub options: ChatOptions,
}

/// Parameters of generation; what is `None` is not sent. Ranges are the
/// provider's to check, since they differ from model to model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ChatOptions {
    /// Randomness, usually 0 to 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Nucleus sampling, 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    /// Most tokens to generate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// Usually -2 to 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frequency_penalty: Option<f64>,
    /// Usually -2 to 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub presence_penalty: Option<f64>,
    /// Texts that end the answer: one text or a list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<serde_json::Value>,
    /// How many answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub n: Option<u32>,
    /// The end user, for the provider's abuse monitoring.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Everything else a provider understands (`seed`, `response_format`,
    /// `tools`, `logit_bias` and so on), passed on as it is.
    #[serde(flatten)]
    pub extra: serde_json::Map<String, serde_json::Value>,
}

impl ChatOptions {
    /// These options; what they leave open, `other` says.
    #[must_use]
    pub fn over(self, other: ChatOptions) -> Self {
        let mut extra = other.extra;
        extra.extend(self.extra);
        ChatOptions {
            temperature: self.temperature.or(other.temperature),
            top_p: self.top_p.or(other.top_p),
            max_tokens: self.max_tokens.or(other.max_tokens),
            frequency_penalty: self.frequency_penalty.or(other.frequency_penalty),
            presence_penalty: self.presence_penalty.or(other.presence_penalty),
            stop: self.stop.or(other.stop),
            n: self.n.or(other.n),
            user: self.user.or(other.user),
            extra,
        }
    }
}

/// One event of a streamed answer.
#[derive(Clone, Debug, PartialEq)]
pub enum ChatEvent {
    /// The provider has begun to answer. Always the first event.
    Start {
        /// The provider's id of this answer.
        id: String,
        /// The model that answers.
        model: String,
        /// Seconds since 1970.
        created: u64,
    },
    /// A piece of text.
    Text {
        /// Which of `n` answers, from 0.
        choice: u32,
        /// The piece.
        text: String,
    },
    /// A piece of the model's visible reasoning.
    Reasoning {
        /// Which of `n` answers, from 0.
        choice: u32,
        /// The piece.
        text: String,
    },
    /// A piece of a call that the model wants made.
    ToolCall {
        /// Which of `n` answers, from 0.
        choice: u32,
        /// Which call of that answer, from 0.
        index: u32,
        /// The call's id, in its first piece.
        id: Option<String>,
        /// The tool's name, in its first piece.
        name: Option<String>,
        /// A piece of the JSON text of the arguments.
        arguments: String,
    },
    /// An answer is complete.
    Finish {
        /// Which of `n` answers, from 0.
        choice: u32,
        /// Why it ended: `stop`, `length`, `tool_calls`, `content_filter` or the provider's word.
        reason: String,
    },
    /// What it cost.
    Usage(Usage),
}

/// Tokens of one answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens of the request.
    pub prompt_tokens: u64,
    /// Tokens of the answer.
    pub completion_tokens: u64,
    /// Both.
    pub total_tokens: u64,
}

/// A streamed answer. Dropping it ends the call to the provider.
pub type ChatStream = Pin<Box<dyn Stream<Item = Result<ChatEvent, ModelError>> + Send>>;

/// A language model, or the door to many. Never runs tools, keeps no history.
pub trait ChatModel: Send + Sync + fmt::Debug {
    /// What it is, in a word or two: `mock`, `openai at https://…`.
    fn describe(&self) -> String;

    /// Asks; the future is ready when the provider has begun to answer, so an
    /// error here means that nothing has been generated.
    fn stream(&self, request: ChatRequest) -> BoxFuture<'_, Result<ChatStream, ModelError>>;
}

/// A whole answer, folded from the stream.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reply {
    /// The provider's id.
    pub id: String,
    /// The model that answered.
    pub model: String,
    /// Seconds since 1970.
    pub created: u64,
    /// One per answer asked for.
    pub choices: Vec<Choice>,
    /// What it cost, if the provider said.
    pub usage: Option<Usage>,
}

/// One of the answers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Choice {
    /// The text.
    pub text: String,
    /// The model's visible reasoning.
    pub reasoning: String,
    /// Calls that the model wants made.
    pub tool_calls: Vec<ToolCallRequest>,
    /// Why it ended, empty if the stream did not say.
    pub finish_reason: String,
}

/// A call that the model wants made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolCallRequest {
    /// The provider's id of the call.
    pub id: String,
    /// The tool.
    pub name: String,
    /// JSON text of the arguments, as the model wrote it.
    pub arguments: String,
}

impl Reply {
    /// Adds one event.
    pub fn fold(&mut self, event: ChatEvent) {
        match event {
            ChatEvent::Start { id, model, created } => {
                (self.id, self.model, self.created) = (id, model, created);
            }
            ChatEvent::Text { choice, text } => self.choice(choice).text.push_str(&text),
            ChatEvent::Reasoning { choice, text } => self.choice(choice).reasoning.push_str(&text),
            ChatEvent::ToolCall {
                choice,
                index,
                id,
                name,
                arguments,
            } => {
                let calls = &mut self.choice(choice).tool_calls;
                let index = (index as usize).min(calls.len());
                if index == calls.len() {
                    calls.push(ToolCallRequest::default());
                }
                let call = &mut calls[index];
                call.id.push_str(&id.unwrap_or_default());
                call.name.push_str(&name.unwrap_or_default());
                call.arguments.push_str(&arguments);
            }
            ChatEvent::Finish { choice, reason } => self.choice(choice).finish_reason = reason,
            ChatEvent::Usage(usage) => self.usage = Some(usage),
        }
    }

    // A provider's choice number is not trusted as a size: 128 is far above
    // what any of them allows for `n`.
    fn choice(&mut self, index: u32) -> &mut Choice {
        let index = index.min(127) as usize;
        if self.choices.len() <= index {
            self.choices.resize_with(index + 1, Choice::default);
        }
        &mut self.choices[index]
    }
}

/// What kind of failure it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelErrorKind {
    /// No connection.
    Connect,
    /// No answer in time.
    Timeout,
    /// The provider asks to slow down (its 429).
    RateLimited,
    /// The provider failed (its 5xx).
    Provider,
    /// The provider refused the request (its other 4xx).
    Refused,
    /// The answer could not be understood.
    Protocol,
    /// The stream ended in the middle.
    Cut,
    /// Nothing is configured that could answer.
    Configuration,
}

impl ModelErrorKind {
    /// Stable code, as in error bodies.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            ModelErrorKind::Connect => "model.connect",
            ModelErrorKind::Timeout => "model.timeout",
            ModelErrorKind::RateLimited => "model.rate_limited",
            ModelErrorKind::Provider => "model.provider",
            ModelErrorKind::Refused => "model.refused",
            ModelErrorKind::Protocol => "model.protocol",
            ModelErrorKind::Cut => "model.cut",
            ModelErrorKind::Configuration => "model.configuration",
        }
    }

    /// Whether the same request may succeed when sent again.
    #[must_use]
    pub fn retryable(self) -> bool {
        matches!(
            self,
            ModelErrorKind::Connect
                | ModelErrorKind::Timeout
                | ModelErrorKind::RateLimited
                | ModelErrorKind::Provider
        )
    }
}

/// Why a model did not answer.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub struct ModelError {
    /// What kind of failure it was.
    pub kind: ModelErrorKind,
    /// Provider, address, cause and what to set: for the operator and the caller.
    pub message: String,
    /// The provider's HTTP status, if it answered with one.
    pub status: Option<u16>,
    /// How long the provider asks to wait.
    pub retry_after: Option<Duration>,
}

impl ModelError {
    /// An error without a provider's status.
    pub fn new(kind: ModelErrorKind, message: impl Into<String>) -> Self {
        ModelError {
            kind,
            message: message.into(),
            status: None,
            retry_after: None,
        }
    }
}
