//! The error of a model, the same for every provider: whoever calls decides by its kind whether to
//! try again and what status or exit code it becomes.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::ErrorCode;

/// The kind of a [`ModelError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelErrorKind {
    /// No connection.
    Connect,
    /// No answer in time.
    Timeout,
    /// The provider asks to slow down (its 429).
    RateLimited,
    /// This server's own rate for the provider or the model is used up, or the provider's 429 asks
    /// for a longer wait than the request has.
    OverRate,
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
    /// A budget has too little left for this call.
    Budget,
    /// A budget of money limits a model whose price is not known.
    Unpriced,
    /// The books of the budgets cannot be had.
    BudgetAway,
}

impl ModelErrorKind {
    /// Stable code, as in error bodies of the prompt service.
    #[must_use]
    pub fn code(self) -> ErrorCode {
        match self {
            ModelErrorKind::Connect => ErrorCode::ModelConnect,
            ModelErrorKind::Timeout => ErrorCode::ModelTimeout,
            ModelErrorKind::RateLimited => ErrorCode::ModelRateLimited,
            ModelErrorKind::OverRate => ErrorCode::ModelOverRate,
            ModelErrorKind::Quota => ErrorCode::ModelQuota,
            ModelErrorKind::Overloaded => ErrorCode::ModelOverloaded,
            ModelErrorKind::Provider => ErrorCode::ModelProvider,
            ModelErrorKind::Auth => ErrorCode::ModelAuth,
            ModelErrorKind::Forbidden => ErrorCode::ModelForbidden,
            ModelErrorKind::ModelNotFound => ErrorCode::ModelNotFound,
            ModelErrorKind::ContextLength => ErrorCode::ModelContextLength,
            ModelErrorKind::ContentFilter => ErrorCode::ModelContentFilter,
            ModelErrorKind::Refused => ErrorCode::ModelRefused,
            ModelErrorKind::MalformedToolCall => ErrorCode::ModelMalformedToolCall,
            ModelErrorKind::Protocol => ErrorCode::ModelProtocol,
            ModelErrorKind::Cut => ErrorCode::ModelCut,
            ModelErrorKind::Configuration => ErrorCode::ModelConfiguration,
            ModelErrorKind::Budget => ErrorCode::BudgetExceeded,
            ModelErrorKind::Unpriced => ErrorCode::BudgetUnpriced,
            ModelErrorKind::BudgetAway => ErrorCode::BudgetUnavailable,
        }
    }

    /// Stable code, as in the events of an agent.
    #[must_use]
    pub fn event_code(self) -> ErrorCode {
        match self {
            ModelErrorKind::Connect => ErrorCode::RunNetwork,
            ModelErrorKind::Timeout => ErrorCode::RunTimeout,
            ModelErrorKind::RateLimited | ModelErrorKind::OverRate => ErrorCode::RunRateLimit,
            ModelErrorKind::Quota => ErrorCode::RunQuota,
            ModelErrorKind::Overloaded => ErrorCode::RunOverloaded,
            ModelErrorKind::Provider | ModelErrorKind::Protocol => ErrorCode::RunServerError,
            ModelErrorKind::Auth => ErrorCode::RunAuth,
            ModelErrorKind::Forbidden => ErrorCode::RunForbidden,
            ModelErrorKind::ModelNotFound => ErrorCode::RunModelNotFound,
            ModelErrorKind::ContextLength => ErrorCode::RunContextLength,
            ModelErrorKind::ContentFilter => ErrorCode::RunContentFilter,
            ModelErrorKind::Refused | ModelErrorKind::Configuration => ErrorCode::RunInvalidRequest,
            ModelErrorKind::MalformedToolCall => ErrorCode::RunMalformedToolCall,
            ModelErrorKind::Cut => ErrorCode::RunStreamTruncated,
            ModelErrorKind::Budget => ErrorCode::RunBudget,
            ModelErrorKind::Unpriced => ErrorCode::RunForbidden,
            ModelErrorKind::BudgetAway => ErrorCode::RunServerError,
        }
    }

    /// Whether the same request may succeed when sent again.
    #[must_use]
    pub fn retryable(self) -> bool {
        self.code().retryable()
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
