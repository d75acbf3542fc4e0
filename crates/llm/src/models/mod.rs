//! Models by name: provider detection ([`detect`]), limits, capabilities, prices and shutdown dates
//! ([`ModelFacts`]), refused parameters ([`RefusedParameters`]), connection settings
//! ([`ModelConfig`]), and a router to all providers ([`ModelRouter`]).
//!
//! ```
//! use futures_util::StreamExt;
//! use quillet_core::chat::{ChatModel, ChatRequest, Reply};
//! use quillet_core::{Message, Role};
//! use quillet_llm::models::{ModelRouter, ModelSettings};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut settings = ModelSettings::default();
//! settings.anthropic.api_key = Some("sk-ant-…".into());
//! let models = ModelRouter::new(settings)?;
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
mod deprecation;
mod deprecation_warnings;
mod detect;
mod entry;
mod facts;
mod name;
mod price;
pub(crate) mod refusals;
mod router;
mod table;
mod tokenizer;
mod trace_cost;

pub use config::ModelConfig;
pub use deprecation::{ModelDeprecation, SOON_DAYS, today};
pub use detect::{DetectedProvider, Vendor, detect};
pub use entry::FactsError;
pub use facts::{ModelFeatures, ModelInfo};
pub use price::Price;
pub use refusals::RefusedParameters;
pub use router::{ModelRouter, ModelSettings, RetryObserver, VendorSettings};
pub use table::{ModelFacts, TableVersion};
pub use tokenizer::Tokenizer;
pub use trace_cost::{cost_of, cost_of_trace, usage_of};
