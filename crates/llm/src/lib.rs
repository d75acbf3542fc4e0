//! Language models behind [`quillet_core::chat::ChatModel`]: one client ([`Provider`]) for all
//! provider APIs ([`Protocol`]), retries for any model ([`Retry`]), rate limits shared by replicas
//! ([`RateLimits`]) and an offline model ([`Mock`]).
//!
//! This crate stores no history and runs no tools. It turns one request into one stream of events,
//! or an error with its cause.
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
//! assert!(reply.ensure_complete().is_ok_and(|answer| answer.text.contains("mock model")));
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
mod guarded_resolver;
mod http;
mod http_options;
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
mod timeouts;
pub mod tokens;

pub use decode::{AnswerLimits, ResponseDecoder};
pub use embed::{EmbedderConfig, OpenAiEmbedder};
pub use endpoint::DEFAULT_BASE_URL;
pub use http::Http;
pub use http_options::HttpOptions;
pub use mock::Mock;
pub use protocol::{
    Anthropic, CallIds, Decoder, Gemini, OpenAiChat, OpenAiResponses, PassthroughCheck, Protocol,
    ProviderError, ReasoningEcho, TokenField, read_wire,
};
pub use provider::{Provider, ProviderConfig};
pub use rate::{Rate, RateLimits};
pub use record::{Record, Replay, ReplaySpeed};
pub use retry::{Retry, RetryNotice, RetryPolicy};
pub use spending::{KeyCount, Spending, SpendingOptions};
pub use timeouts::Timeouts;

/// Installs the TLS cryptography provider for this process, unless a provider is already installed.
/// [`Http`] calls this function before it connects.
pub fn install_crypto() {
    // An error only means that another thread has installed a provider.
    let _ = rustls::crypto::ring::default_provider().install_default();
}
