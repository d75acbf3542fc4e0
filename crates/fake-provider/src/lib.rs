//! A model provider for tests and benchmarks. It implements the four provider APIs, sends scripted
//! replies, records requests, and fails in every way that real providers do. It is never part of
//! the product.
//!
//! ```no_run
//! use std::time::Duration;
//! use quillet_fake_provider::{
//!     FakeProvider, InjectedFault, ProviderApi, ReplyScript, ScriptedReply,
//! };
//!
//! let script = ReplyScript::turns([
//!     ScriptedReply::call("get_weather", ["{\"ci", "ty\":\"Paris\"}"]),
//!     ScriptedReply::text(["It is ", "sunny."]).pause(Duration::from_millis(20)),
//!     ScriptedReply::text(["half an ans"]).fault(InjectedFault::cut(1)),
//! ]);
//! let provider = FakeProvider::start(script);
//! let base_url = provider.base_url(ProviderApi::Anthropic);
//! // … a client asks …
//! assert_eq!(provider.requests()[0].model, "claude-sonnet-4-20250514");
//! ```
//!
//! One server on its own port implements all APIs. The request path selects one ([`ProviderApi`]),
//! and the body or path can request a stream. The server runs in its own thread, so neither a
//! paused clock nor a blocked test runtime stops it. It ends on drop.
//!
//! **Replies**: a model whose name starts with `fake-` selects its reply itself (see [`named`]:
//! `fake-text-20`, `fake-slow`, `fake-tool-3`, `fake-fail-429`, …). For other models the
//! [`ReplyScript`] selects it: a list of replies, counted per API key, or a function of the
//! request. The last reply of the list answers all further requests.
//!
//! **Records**: every request ([`RecordedRequest`]), the number of clients that disconnected during
//! a response ([`FakeProvider::disconnected`]), and the number of open responses
//! ([`FakeProvider::open`]). Other processes read the counts from `GET /fake/counts`.
//!
//! The server also implements `POST …/embeddings`, `GET …/models`, and the batch APIs of OpenAI and
//! Anthropic. Equal texts have equal embeddings, and texts with common words have similar ones.
//!
//! As a process: `cargo run -p quillet-fake-provider --example fake_provider -- --port 8090`.

#![allow(clippy::missing_panics_doc)]

mod batches;
mod content_type;
mod embeddings;
mod fault;
pub mod named;
mod plan;
mod provider;
mod provider_api;
mod request;
mod script;
mod serve;
mod turn;
mod wire;

pub use fault::{ConnectionEnd, ErrorResponse, InjectedFault};
pub use provider::{FakeProvider, ProviderSettings};
pub use provider_api::ProviderApi;
pub use request::RecordedRequest;
pub use script::ReplyScript;
pub use turn::{Finish, ReplyPart, ScriptedCall, ScriptedReply, TokenUsage};
