//! The Programmable Prompt Engine language: scripts `*.ai.yaml`.
//!
//! A script is read once ([`syntax::Script`]) and run many times. The way of a run:
//! file → [`reader`] → syntax tree with spans → [`run`], which interprets it over
//! templates, models, tools and other scripts. JavaScript starts when something needs it.
//!
//! The crate knows no file system of its own, no provider and no terminal: what is in [`host`]
//! gives it scripts, models, tools and an observer.
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

// Code that only a feature uses which this build lacks is no dead code to report.
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
