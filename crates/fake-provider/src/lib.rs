//! A model provider for tests and benches: it speaks the four wires, answers what
//! it was told to, writes down what it was asked, and fails in every way that real
//! ones do. It is never part of the product.
//!
//! ```no_run
//! use std::time::Duration;
//! use quillet_fake_provider::{FakeProvider, Fault, Script, Turn, Wire};
//!
//! let script = Script::turns([
//!     Turn::call("get_weather", ["{\"ci", "ty\":\"Paris\"}"]),
//!     Turn::text(["It is ", "sunny."]).pause(Duration::from_millis(20)),
//!     Turn::text(["half an ans"]).fault(Fault::cut(1)),
//! ]);
//! let provider = FakeProvider::start(script);
//! let base_url = provider.base_url(Wire::Anthropic);
//! // … a client asks …
//! assert_eq!(provider.requests()[0].model, "claude-sonnet-4-20250514");
//! ```
//!
//! One server on a port of its own answers all wires: the path of a request says
//! which ([`ProviderApi`]), its body or path whether it wants a stream. It runs in a thread
//! of its own, so that neither a paused clock nor a blocked runtime of a test holds
//! it, and ends when it is dropped.
//!
//! **What it answers**, in this order:
//! 1. A model whose name begins with `fake-` says it itself (module [`named`] has the
//!    table: `fake-text-20`, `fake-slow`, `fake-tool-3`, `fake-fail-429`, …).
//! 2. Else the [`ReplyScript`]: turns in order, counted for each API key by itself, or a
//!    function of the request. The last turn answers everything that follows.
//!
//! **What it remembers**: every request ([`RecordedRequest`]), and how often a client left in
//! the middle of an answer ([`FakeProvider::disconnected`]), and how many answers are
//! under way ([`FakeProvider::open`]). Another process reads the counts from
//! `GET /fake/counts`.
//!
//! Besides the four wires it answers `POST …/embeddings` with vectors that are the
//! same for the same text and near for texts with common words, `GET …/models`, and the batch APIs of
//! OpenAI and Anthropic.
//!
//! As a process: `cargo run -p quillet-fake-provider --example fake_provider -- --port 8090`.

#![allow(clippy::missing_panics_doc)]

mod batches;
mod embeddings;
mod fault;
pub mod named;
mod plan;
mod provider;
mod request;
mod script;
mod serve;
mod turn;
mod wire;

pub use fault::{ConnectionEnd, ErrorResponse, InjectedFault};
pub use provider::{FakeProvider, ProviderSettings};
pub use request::RecordedRequest;
pub use script::ReplyScript;
pub use turn::{Finish, ReplyPart, ScriptedCall, ScriptedReply, TokenUsage};
pub use wire::ProviderApi;
