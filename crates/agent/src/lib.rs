//! The agent loop, which calls a model and its tools.
//!
//! [`run`] takes a [`RunSpec`] and returns a stream of [`AgentEvent`]s; the last one contains the
//! outcome. This crate has no providers, HTTP or stores: models, tools and token counters are
//! traits of `core`.
//!
//! Chat Shell, which some comments mention, is a Python agent service. Quillet supports its
//! requests, events, skills and limits, so that its clients can use `quillet serve` unchanged.
//!
//! ```
//! use std::sync::Arc;
//! use futures_util::StreamExt;
//! use quillet_agent::{AgentEvent, RunSpec, run};
//! use quillet_core::chat::{
//!     ChatEvent, ChatModel, ChatRequest, ChatStream, FinishReason, ModelError,
//! };
//! use quillet_core::{BoxFuture, Message, Role};
//!
//! /// A model that greets.
//! #[derive(Debug)]
//! struct Greeter;
//!
//! impl ChatModel for Greeter {
//!     fn describe(&self) -> String {
//!         "greeter".to_owned()
//!     }
//!
//!     fn stream(&self, _: ChatRequest) -> BoxFuture<'_, Result<ChatStream, ModelError>> {
//!         let (choice, reason) = (0, FinishReason::Stop);
//!         let text = ChatEvent::Text { choice, text: "Hello!".to_owned() };
//!         let end = ChatEvent::Finish { choice, reason, raw: "stop".to_owned() };
//!         let answer = futures_util::stream::iter([Ok(text), Ok(end)]);
//!         Box::pin(async move { Ok(Box::pin(answer) as ChatStream) })
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! let question = vec![Message::new(Role::User, "Hi")];
//! let greeting = RunSpec {
//!     system: "Be kind.".to_owned(),
//!     ..RunSpec::new(Arc::new(Greeter), question)
//! };
//! let mut events = run(greeting);
//! while let Some(event) = events.next().await {
//!     match event {
//!         AgentEvent::Text(piece) => assert_eq!(piece, "Hello!"),
//!         AgentEvent::Ended(outcome) => assert_eq!(outcome.messages.len(), 1),
//!         _ => {}
//!     }
//! }
//! # }
//! ```
//!
//! The loop starts in `drive`. Each iteration runs a turn of the model (`request` sends it, `turn`
//! reads the stream) and then its calls (`call_plan` validates them, `calls` runs them
//! concurrently, `calling` makes each). The loop is one future, driven by the reader of its events
//! (`emit`), so dropping the stream ends it. State that must be consistent at that moment is in the
//! `ledger`.

mod answer;
mod approval;
mod approval_check;
mod call_plan;
mod calling;
mod calls;
mod chat_trace;
pub mod compact;
pub mod definition;
mod drive;
mod emit;
mod event;
mod failure;
mod ledger;
mod permission;
mod repeats;
mod request;
mod results;
mod run;
mod scope;
pub mod skills;
mod sources;
mod spans;
mod toolbox;
mod turn;

pub use approval::{Approval, Approver, PendingCall};
pub use chat_trace::ChatTrace;
pub use definition::{AgentDefinition, KnownNames};
pub use drive::run;
pub use emit::EventStream;
pub use event::{AgentError, AgentEvent, AgentOutcome, Citation, CompactionReport, EndReason};
pub use permission::{BadPermissions, Permissions};
pub use run::{PromptVersion, RunLimits, RunSpec, Skill, Skills, Window};
