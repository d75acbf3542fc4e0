//! A prompt engine: templates, a prompt service, agents, scripts and text-to-SQL.
//!
//! The crate has three levels; start with the one that your program needs.
//!
//! - [`Template`] and [`Environment`] render text and messages. They need no store, no runtime and
//!   no feature of this crate.
//! - [`Quillet`] works on one store: it renders stored prompts, calls models, runs agents and
//!   scripts, and queries databases (feature `service`).
//! - [`Host`] has the components of `quillet serve`, built from [`Settings`], for programs that
//!   serve or combine them (feature `service`).
//!
//! # Templates
//!
//! A [`Template`] is compiled once and rendered any number of times. An [`Environment`] holds
//! templates that call each other by name.
//!
//! ```
//! let template = quillet::Template::new("jinja", "Hello {{ name }}!")?;
//! let text = template.render([("name", "Ada")])?;
//! assert_eq!(text, "Hello Ada!");
//! # Ok::<(), quillet::TemplateError>(())
//! ```
//!
//! # Stored prompts, models and agents
//!
//! [`Quillet::open`] opens a store. API keys and all other settings come from the environment, as
//! for `quillet serve`.
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
//! # Single components
//!
//! `quillet serve` is built on [`Host`]. The functions in `components` create each component from
//! [`Settings`]. Each component is a separate crate, re-exported here: [`core`] and [`template`]
//! always, the others with their features.

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
pub use service::Quillet;
#[cfg(feature = "service")]
pub use settings::Settings;
pub use templates::{
    Environment, FailedCall, FormatNames, FunctionCall, RenderStep, RenderedTemplate, Rendering,
    Template, TemplateError, TemplateFunction, TemplateOptions, check, convert, formats, render,
};

/// Values, messages, and the traits of tools, models and stores.
pub use quillet_core as core;
pub use quillet_core::{Map, Value};
/// Template engine with all formats.
pub use quillet_template as template;

/// Agent loop: a model that calls tools until it is done.
#[cfg(feature = "service")]
pub use quillet_agent as agent;
/// Services of a host process: agents, scripts and databases of a store.
#[cfg(feature = "service")]
pub use quillet_host as hosting;
/// Clients of the provider APIs, and a mock model.
#[cfg(feature = "service")]
pub use quillet_llm as llm;
/// Prompt service: finds, renders and sends stored prompts.
#[cfg(feature = "service")]
pub use quillet_prompt as prompt;
/// Script language, `.ai.yaml`.
#[cfg(feature = "service")]
pub use quillet_script as script;
/// HTTP server.
#[cfg(feature = "server")]
pub use quillet_server as server;
/// Text-to-SQL: databases, query checks and exports.
#[cfg(feature = "sql")]
pub use quillet_sql as sql;
/// Stores of prompts, shared variables and tools.
#[cfg(feature = "service")]
pub use quillet_store as store;
/// Tools over REST, gRPC and MCP, and the built-in tools.
#[cfg(feature = "service")]
pub use quillet_tools as tools;
