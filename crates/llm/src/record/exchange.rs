//! Lines of a recording.

use std::time::Duration;

use quillet_core::chat::{ChatEvent, ModelError, ModelErrorKind};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// First line of a recording.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct RecordingHeader {
    /// Always `exchange`.
    pub(super) quillet: String,
    pub(super) version: u32,
    /// The request in canonical form.
    pub(super) request: Value,
}

/// A line after the header.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct RecordingLine {
    /// Milliseconds since the request.
    pub(super) ms: f64,
    #[serde(flatten)]
    pub(super) what: RecordedItem,
}

/// The recorded event.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum RecordedItem {
    Event(ChatEvent),
    Error(RecordedError),
    End(RecordedEnd),
}

/// How an answer without an error ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum RecordedEnd {
    /// The answer was complete.
    Done,
    /// The caller dropped the stream.
    Cancelled,
}

/// JSON form of [`ModelError`].
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct RecordedError {
    kind: String,
    message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    retry_after_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    provider_code: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    request_id: Option<String>,
}

/// All error kinds that a recording may contain.
const KINDS: [ModelErrorKind; 20] = [
    ModelErrorKind::Connect,
    ModelErrorKind::Timeout,
    ModelErrorKind::RateLimited,
    ModelErrorKind::OverRate,
    ModelErrorKind::Quota,
    ModelErrorKind::Overloaded,
    ModelErrorKind::Provider,
    ModelErrorKind::Auth,
    ModelErrorKind::Forbidden,
    ModelErrorKind::ModelNotFound,
    ModelErrorKind::ContextLength,
    ModelErrorKind::ContentFilter,
    ModelErrorKind::Refused,
    ModelErrorKind::MalformedToolCall,
    ModelErrorKind::Protocol,
    ModelErrorKind::Cut,
    ModelErrorKind::Configuration,
    ModelErrorKind::Budget,
    ModelErrorKind::Unpriced,
    ModelErrorKind::BudgetAway,
];

impl RecordedItem {
    pub(super) fn item(item: Result<&ChatEvent, &ModelError>) -> Self {
        match item {
            Ok(event) => RecordedItem::Event(event.clone()),
            Err(error) => RecordedItem::Error(RecordedError::from(error)),
        }
    }
}

impl RecordingLine {
    /// Creates a line for an item that occurred this long after the request.
    pub(super) fn new(since: Duration, what: RecordedItem) -> Self {
        let ms = since.as_secs_f64() * 1000.0;
        RecordingLine { ms, what }
    }

    /// Returns the time since the request.
    pub(super) fn since(&self) -> Duration {
        Duration::try_from_secs_f64(self.ms / 1000.0).unwrap_or_default()
    }
}

impl From<&ModelError> for RecordedError {
    fn from(error: &ModelError) -> Self {
        let wait = error.retry_after.map(|wait| wait.as_millis());
        RecordedError {
            kind: error.kind.code().to_string(),
            message: error.message.clone(),
            status: error.status,
            retry_after_ms: wait.map(|wait| u64::try_from(wait).unwrap_or(u64::MAX)),
            provider_code: error.provider_code.clone(),
            request_id: error.request_id.clone(),
        }
    }
}

/// Converts a recorded error; a kind unknown to this version becomes a provider error.
impl From<RecordedError> for ModelError {
    fn from(failure: RecordedError) -> Self {
        let kind = KINDS
            .into_iter()
            .find(|kind| kind.code().as_str() == failure.kind);
        ModelError {
            kind: kind.unwrap_or(ModelErrorKind::Provider),
            message: failure.message,
            status: failure.status,
            retry_after: failure.retry_after_ms.map(Duration::from_millis),
            provider_code: failure.provider_code,
            request_id: failure.request_id,
        }
    }
}
