//! Error of a model call, in a form common to all providers. Its kind determines retries, HTTP
//! statuses and exit codes.

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
    /// The provider's rate limit was reached (429).
    RateLimited,
    /// The configured rate limit of the provider or model is used up, or the provider's 429 asks
    /// for a longer wait than the request allows.
    OverRate,
    /// The account has no credit or quota left; waiting does not help.
    Quota,
    /// The provider is overloaded (529, 503 `overloaded`).
    Overloaded,
    /// The provider failed (its other 5xx).
    Provider,
    /// Missing or invalid key (401).
    Auth,
    /// The key lacks the permission (403).
    Forbidden,
    /// Unknown model.
    ModelNotFound,
    /// The conversation does not fit into the model's window.
    ContextLength,
    /// The provider's content filter rejected the request.
    ContentFilter,
    /// The provider rejected the request (other 4xx).
    Refused,
    /// The provider reports that the model wrote an invalid tool call.
    MalformedToolCall,
    /// The answer is invalid.
    Protocol,
    /// The stream ended before the answer was complete.
    Cut,
    /// No model is configured, or the configuration is invalid.
    Configuration,
    /// The call would exceed a budget.
    Budget,
    /// A money budget applies to a model without a known price.
    Unpriced,
    /// The budget store is unavailable.
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

    /// Whether a retry of the same request may succeed.
    ///
    /// # Examples
    ///
    /// ```
    /// use quillet_core::chat::ModelErrorKind;
    ///
    /// assert!(ModelErrorKind::RateLimited.retryable());
    /// assert!(!ModelErrorKind::Auth.retryable());
    /// assert_eq!(ModelErrorKind::Auth.code().as_str(), "model.auth");
    /// ```
    #[must_use]
    pub fn retryable(self) -> bool {
        self.code().retryable()
    }
}

/// Error of a model call.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub struct ModelError {
    /// Kind of the failure.
    pub kind: ModelErrorKind,
    /// Provider, address, cause and the setting to change, for the operator and the caller.
    pub message: String,
    /// The provider's HTTP status, if it answered with one.
    pub status: Option<u16>,
    /// Wait time requested by the provider.
    pub retry_after: Option<Duration>,
    /// The provider's own error code.
    pub provider_code: Option<String>,
    /// The provider's request id, for its support.
    pub request_id: Option<String>,
}

impl ModelError {
    /// Creates an error without details from the provider.
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
