//! The Programmable Prompt Engine language: scripts `*.ai.yaml`.
//!
//! A script is parsed once ([`syntax::Script`]) and can be run many times. [`reader`] converts the
//! file to a syntax tree with spans, and [`run`] interprets that tree with templates, models, tools
//! and other scripts. JavaScript is started on first use.
//!
//! The crate does not depend on a file system, a provider or a terminal. The interfaces in [`host`]
//! supply scripts, models, tools and an observer.
//!
//! ```
//! use quillet_script::reader;
//! use quillet_script::syntax::ScriptSource;
//! use std::sync::Arc;
//!
//! let source = ScriptSource {
//!     name: "greet.ai.yaml".into(),
//!     path: None,
//!     text: "user: Greet {{name}}\nasistant: \"[[greeting]]\"\n".into(),
//! };
//! let diagnostics = reader::read(Arc::new(source)).finish().unwrap_err();
//! assert!(diagnostics[0].to_string().starts_with("greet.ai.yaml:2:1"));
//! ```

// Some code is used only by a feature that may be disabled in this build.
#![cfg_attr(not(all(feature = "js", feature = "wasm")), allow(dead_code))]

pub mod answer;
pub mod argument;
pub mod call;
pub mod directive;
pub mod editor;
mod error;
pub mod expression;
pub mod format;
pub mod host;
pub mod js;
pub mod library;
pub mod pattern;
pub mod reader;
pub mod run;
pub mod syntax;
pub mod testing;
pub mod text;

pub use error::{ErrorKind, ScriptError};
