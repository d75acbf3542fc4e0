//! The error of a model, the same for every provider: whoever calls decides by its kind whether to
//! try again and what status or exit code it becomes.

use std::time::Duration;

/// The kind of a [`ModelError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ModelErrorKind {
    /// No connection.
    Connect,
    /// No answer in time.
    Timeout,
    /// The provider asks to slow down (its 429).
    RateLimited,
    /// The account has nothing left: waiting does not help.
    Quota,
    /// The provider has too much to do (529, 503 `overloaded`).
    Overloaded,
    /// The provider failed (its other 5xx).
    Provider,
    /// No key, or a wrong one (401).
    Auth,
    /// The key may not do this (403).
    Forbidden,
    /// There is no such model.
    ModelNotFound,
    /// The conversation does not fit into the model's window.
    ContextLength,
    /// The provider's filter refused the request.
    ContentFilter,
    /// The provider refused the request (its other 4xx).
    Refused,
    /// The provider says that the model wrote a call that cannot be read.
    MalformedToolCall,
    /// The answer could not be understood.
    Protocol,
    /// The stream ended in the middle.
    Cut,
    /// Nothing is configured that could answer.
    Configuration,
}

impl ModelErrorKind {
    /// Stable code, as in error bodies of the prompt service.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            ModelErrorKind::Connect => "model.connect",
            ModelErrorKind::Timeout => "model.timeout",
            ModelErrorKind::RateLimited => "model.rate_limited",
            ModelErrorKind::Quota => "model.quota",
            ModelErrorKind::Overloaded => "model.overloaded",
            ModelErrorKind::Provider => "model.provider",
            ModelErrorKind::Auth => "model.auth",
            ModelErrorKind::Forbidden => "model.forbidden",
            ModelErrorKind::ModelNotFound => "model.not_found",
            ModelErrorKind::ContextLength => "model.context_length",
            ModelErrorKind::ContentFilter => "model.content_filter",
            ModelErrorKind::Refused => "model.refused",
            ModelErrorKind::MalformedToolCall => "model.malformed_tool_call",
            ModelErrorKind::Protocol => "model.protocol",
            ModelErrorKind::Cut => "model.cut",
            ModelErrorKind::Configuration => "model.configuration",
        }
    }

    /// Stable code, as in the events of an agent.
    #[must_use]
    pub fn event_code(self) -> &'static str {
        match self {
            ModelErrorKind::Connect => "network",
            ModelErrorKind::Timeout => "timeout",
            ModelErrorKind::RateLimited => "rate_limit",
            ModelErrorKind::Quota => "quota",
            ModelErrorKind::Overloaded => "overloaded",
            ModelErrorKind::Provider | ModelErrorKind::Protocol => "server_error",
            ModelErrorKind::Auth => "auth",
            ModelErrorKind::Forbidden => "forbidden",
            ModelErrorKind::ModelNotFound => "model_not_found",
            ModelErrorKind::ContextLength => "context_length",
            ModelErrorKind::ContentFilter => "content_filter",
            ModelErrorKind::Refused | ModelErrorKind::Configuration => "invalid_request",
            ModelErrorKind::MalformedToolCall => "malformed_tool_call",
            ModelErrorKind::Cut => "stream_truncated",
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
                | ModelErrorKind::Overloaded
                | ModelErrorKind::Provider
                // The model may well write a better one.
                | ModelErrorKind::MalformedToolCall
        )
    }
}

/// The error of a call of a model.
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
    /// The provider's own code of the failure.
    pub provider_code: Option<String>,
    /// The provider's id of the request, for its support.
    pub request_id: Option<String>,
}

impl ModelError {
    /// An error without a provider's status.
    pub fn new(kind: ModelErrorKind, message: impl Into<String>) -> Self {
        ModelError {
            kind,
            message: message.into(),
            status: None,
            retry_after: None,
            provider_code: None,
            request_id: None,
        }
    }
}
