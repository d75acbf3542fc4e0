//! Quillet: prompts as templates that are compiled once, with shared variables
//! and tools that are found late.
//!
//! This is the library behind the `quillet` binary; it hands out the crates that
//! Quillet is made of under one name.
//!
//! ```
//! use quillet::core::{Map, Value};
//! use quillet::template::{
//!     CompileOptions, Limits, NoFunctions, Render, Source, TemplateFactory, render,
//! };
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let formats = TemplateFactory::standard();
//! let source = Source::new("greeting", "Hello {{.name}}!");
//! let template = formats.compile("go", &[source], &CompileOptions::default())?;
//!
//! let variables: Map = [("name", Value::from("Ada"))].into_iter().collect();
//! let rendered = render(&Render {
//!     template: template.as_ref(),
//!     entries: &["greeting"],
//!     variables: &variables,
//!     functions: &NoFunctions,
//!     limits: &Limits::default(),
//! })
//! .await?;
//! assert_eq!(rendered.into_texts(), ["Hello Ada!"]);
//! # Ok(())
//! # }
//! ```

/// Values, messages, and the contracts of tools, models and stores.
pub use quillet_core as core;
/// Models: the OpenAI wire, retries and a mock.
pub use quillet_llm as llm;
/// The prompt service: find, bind, render, send.
pub use quillet_prompt as prompt;
/// The service over HTTP.
pub use quillet_server as server;
/// Where prompts, shared variables and tools are stored.
pub use quillet_store as store;
/// Templates in every format.
pub use quillet_template as template;
/// Tools over REST, gRPC and MCP.
pub use quillet_tools as tools;
