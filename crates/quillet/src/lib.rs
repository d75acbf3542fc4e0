//! Quillet: prompts as templates that are compiled once, with shared variables and tools that are
//! found late; sent to models, used by agents and scripts.
//!
//! There are three things to learn. [`Template`] makes texts and messages, [`Environment`] holds
//! templates that call each other, and neither needs a store, a runtime or a feature of this crate:
//!
//! ```
//! let template = quillet::Template::new("jinja", "Hello {{ name }}!")?;
//! let text = template.render([("name", "Ada")])?;
//! assert_eq!(text, "Hello Ada!");
//! # Ok::<(), quillet::TemplateError>(())
//! ```
//!
//! [`Quillet`] does everything over one store: it renders its prompts, asks models, runs agents and
//! scripts, and asks databases.
//!
//! ```no_run
//! # #[cfg(feature = "service")]
//! # async fn ask() -> Result<(), quillet::Error> {
//! use quillet::Quillet;
//!
//! let quillet = Quillet::open("redis://127.0.0.1/").await?;
//! let greeting = quillet.render("greet.hello", [("name", "Ada")]).await?;
//! let answer = quillet.chat("greet.hello", [("name", "Ada")]).await?;
//! # Ok(())
//! # }
//! ```
//!
//! [`Host`] is what `quillet serve` stands on: the same parts, made of [`Settings`], to be served or
//! used one by one. Each part is a crate of its own, and all of them are here under their names.

mod templates;

#[cfg(feature = "service")]
pub mod components;
#[cfg(feature = "service")]
mod error;
#[cfg(feature = "service")]
pub mod files;
#[cfg(feature = "service")]
mod function_tool;
#[cfg(feature = "service")]
mod host;
#[cfg(feature = "service")]
mod openai_prompts;
#[cfg(feature = "service")]
mod service;
#[cfg(feature = "service")]
pub mod settings;

#[cfg(feature = "service")]
pub use error::{Error, ErrorKind, ErrorMessage, LocatedDiagnostic};
#[cfg(feature = "service")]
pub use function_tool::tool;
#[cfg(feature = "service")]
pub use host::Host;
#[cfg(feature = "service")]
pub use openai_prompts::{SavedPrompt, openai_prompts};
#[cfg(feature = "service")]
pub use service::Quillet;
#[cfg(feature = "service")]
pub use settings::Settings;
pub use templates::{
    Environment, FailedCall, FormatNames, FunctionCall, RenderStep, RenderedTemplate, Rendering,
    Template, TemplateError, TemplateFunction, TemplateOptions, check, convert, formats, render,
};

/// Values, messages, and the contracts of tools, models and stores.
pub use quillet_core as core;
pub use quillet_core::{Map, Value};
/// Templates in every format.
pub use quillet_template as template;

/// The loop of a model and its tools.
#[cfg(feature = "service")]
pub use quillet_agent as agent;
/// What a process hosts: agents, scripts and databases of a store.
#[cfg(feature = "service")]
pub use quillet_host as hosting;
/// Models on the wires of four providers, and a mock.
#[cfg(feature = "service")]
pub use quillet_llm as llm;
/// The prompt service: find, bind, render, send.
#[cfg(feature = "service")]
pub use quillet_prompt as prompt;
/// The language of scripts, `.ai.yaml`.
#[cfg(feature = "service")]
pub use quillet_script as script;
/// The service over HTTP.
#[cfg(feature = "server")]
pub use quillet_server as server;
/// Questions to databases.
#[cfg(feature = "sql")]
pub use quillet_sql as sql;
/// Where prompts, shared variables and tools are stored.
#[cfg(feature = "service")]
pub use quillet_store as store;
/// Tools over REST, gRPC and MCP.
#[cfg(feature = "service")]
pub use quillet_tools as tools;
