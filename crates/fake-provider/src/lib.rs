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
//! which ([`Wire`]), its body or path whether it wants a stream. It runs in a thread
//! of its own, so that neither a paused clock nor a blocked runtime of a test holds
//! it, and ends when it is dropped.
//!
//! **What it answers**, in this order:
//! 1. A model whose name begins with `fake-` says it itself (module [`named`] has the
//!    table: `fake-text-20`, `fake-slow`, `fake-tool-3`, `fake-fail-429`, …).
//! 2. Else the [`Script`]: turns in order, counted for each API key by itself, or a
//!    function of the request. The last turn answers everything that follows.
//!
//! **What it remembers**: every request ([`Asked`]), and how often a client left in
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

mod asked;
mod batches;
mod embeddings;
mod fault;
pub mod named;
mod plan;
mod provider;
mod script;
mod serve;
mod turn;
mod wire;

pub use asked::Asked;
pub use fault::{Ending, Fault, Refusal};
pub use provider::{FakeProvider, Settings};
pub use script::Script;
pub use turn::{Call, Finish, Piece, Spent, Turn};
pub use wire::Wire;
