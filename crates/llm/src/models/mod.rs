//! Models by their names: who offers one ([`detect`]), what fits into it, what it can do and costs,
//! when it ends ([`ModelFacts`]), how to reach it ([`ModelConfig`]), and the router to all of them
//! ([`Models`]).
//!
//! ```
//! use futures_util::StreamExt;
//! use quillet_core::chat::{ChatModel, ChatRequest, Reply};
//! use quillet_core::{Message, Role};
//! use quillet_llm::models::{ModelSettings, Models};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut settings = ModelSettings::default();
//! settings.anthropic.api_key = Some("sk-ant-…".into());
//! let models = Models::new(settings)?;
//! assert!(models.names().contains(&"claude-opus-4-5".to_owned()));
//!
//! let request = ChatRequest {
//!     model: Some("mock".to_owned()),
//!     messages: vec![Message::new(Role::User, "What is a quillet?")],
//!     ..ChatRequest::default()
//! };
//! let mut reply = Reply::default();
//! let mut stream = models.stream(request).await?;
//! while let Some(event) = stream.next().await {
//!     reply.fold(event?);
//! }
//! assert!(reply.choices[0].text.ends_with("What is a quillet?"));
//! # Ok(())
//! # }
//! ```

mod config;
mod detect;
mod door;
mod end;
mod entry;
mod facts;
mod name;
mod price;
mod spent;
mod table;
mod tokenizer;
mod told;

pub use config::ModelConfig;
pub use detect::{Detected, Vendor, detect};
pub use door::{ModelSettings, Models, RetryObserver, VendorSettings};
pub use end::{Ending, SOON_DAYS, today};
pub use entry::FactsError;
pub use facts::{Facts, Supports};
pub use price::Price;
pub use spent::{cost_of, cost_of_trace, usage_of};
pub use table::{ModelFacts, Source};
pub use tokenizer::Tokenizer;
