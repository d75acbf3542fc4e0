//! Language models behind [`quillet_core::chat::ChatModel`]: one client
//! ([`Provider`]) for every wire ([`Protocol`]), a policy of retries around any
//! model ([`Retry`]) and a model without a network ([`Mock`]).
//!
//! This crate knows no history and runs no tools; it turns one request into one
//! stream of events and says why where it cannot.

mod answer;
mod embed;
mod encoding;
mod endpoint;
mod failure;
mod http;
mod intake;
mod mock;
pub mod models;
#[cfg(test)]
mod passed;
mod protocol;
mod provider;
mod reading;
mod record;
mod retry;
mod retry_after;
mod straight;
pub mod tokens;

pub use embed::{EmbedderConfig, OpenAiEmbedder};
pub use endpoint::DEFAULT_BASE_URL;
pub use http::{Http, HttpOptions};
pub use intake::{AnswerLimits, Intake};
pub use mock::Mock;
pub use protocol::{
    Anthropic, CallIds, Decoder, Gemini, OpenAiChat, OpenAiResponses, Plain, Protocol,
    ReasoningEcho, Refusal, TokenField, read_wire,
};
pub use provider::{Provider, ProviderConfig, Timeouts};
pub use record::{Pace, Record, Replay};
pub use retry::{Retry, RetryNotice, RetryPolicy};

/// Installs the cryptography that TLS uses in this process. Does nothing where
/// one is installed already, so everybody may call it; [`Http`] does before it connects.
pub fn install_crypto() {
    // The error only says that somebody was faster.
    let _ = rustls::crypto::ring::default_provider().install_default();
}
