//! Language models behind [`quillet_core::chat::ChatModel`]: one client
//! ([`Provider`]) for every wire ([`Protocol`]), a policy of retries around any
//! model ([`Retry`]), rates that replicas keep together ([`RateLimits`]) and a model without a network ([`Mock`]).
//!
//! This crate knows no history and runs no tools; it turns one request into one
//! stream of events and says why where it cannot.
//!
//! ```
//! use futures_util::StreamExt;
//! use quillet_core::chat::{ChatModel, ChatRequest, Reply};
//! use quillet_core::{Message, Role};
//! use quillet_llm::Mock;
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! let request = ChatRequest {
//!     messages: vec![Message::new(Role::User, "Hello")],
//!     ..ChatRequest::default()
//! };
//! let mut events = Mock.stream(request).await?;
//! let mut reply = Reply::default();
//! while let Some(event) = events.next().await {
//!     reply.fold(event?);
//! }
//! assert!(reply.whole().is_ok_and(|answer| answer.text.contains("mock model")));
//! # Ok::<(), quillet_core::chat::ModelError>(())
//! # }).unwrap();
//! ```

mod answer;
pub mod batches;
mod decode;
mod direct_connector;
mod embed;
mod encoding;
mod endpoint;
mod failure;
mod http;
mod mock;
pub mod models;
#[cfg(test)]
mod passthrough_tests;
mod protocol;
mod provider;
mod rate;
mod reading;
mod record;
mod retry;
mod retry_after;
mod spending;
pub mod tokens;

pub use decode::{AnswerLimits, ResponseDecoder};
pub use embed::{EmbedderConfig, OpenAiEmbedder};
pub use endpoint::DEFAULT_BASE_URL;
pub use http::{Http, HttpOptions};
pub use mock::Mock;
pub use protocol::{
    Anthropic, CallIds, Decoder, Gemini, OpenAiChat, OpenAiResponses, Plain, Protocol,
    ProviderError, ReasoningEcho, TokenField, read_wire,
};
pub use provider::{Provider, ProviderConfig, Timeouts};
pub use rate::{Rate, RateLimits};
pub use record::{Record, Replay, ReplaySpeed};
pub use retry::{Retry, RetryNotice, RetryPolicy};
pub use spending::{KeyCount, Spending, SpendingOptions};

/// Installs the cryptography that TLS uses in this process. Does nothing where
/// one is installed already, so everybody may call it; [`Http`] does before it connects.
pub fn install_crypto() {
    // The error only says that somebody was faster.
    let _ = rustls::crypto::ring::default_provider().install_default();
}
