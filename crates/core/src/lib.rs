//! Basic types and traits of Quillet: values, messages, tools, models, stores, sessions and traces.
//! This crate does no I/O and needs no runtime. Every other crate depends on it, and it depends on
//! none of them.
//!
//! ```
//! use quillet_core::{Map, Value, json};
//!
//! let order = json::parse(r#"{"city": "Oslo", "items": [1, 2.50]}"#)?;
//! let order = order.as_map().cloned().unwrap_or_default();
//! assert_eq!(order.get("city").and_then(Value::as_str), Some("Oslo"));
//! // Numbers are written in their shortest form.
//! assert_eq!(json::to_string(order.get("items").unwrap()), "[1,2.5]");
//! assert_eq!(Map::from([("name", "Ada")]).len(), 1);
//! # Ok::<(), serde_json::Error>(())
//! ```

pub mod address;
pub mod archive;
pub mod batch;
pub mod budget;
pub mod build;
pub mod chat;
pub mod clock;
pub mod constraint;
pub mod diagnostic;
pub mod error_code;
pub mod history;
pub mod journal;
pub mod json;
pub mod knowledge;
pub mod lock;
pub mod message;
pub mod rates;
pub mod runs;
pub mod session;
pub mod sse;
pub mod store;
pub mod token;
pub mod tool;
pub mod trace;
pub mod value;
pub mod web;

pub use diagnostic::{Diagnostic, LineColumn, Severity, Span, nearest};
pub use error_code::{ErrorCode, Exit};
pub use message::{ContentPart, MediaUrl, Message, MessageContent, NativeTurn, Role, ToolCall};
pub use token::{SemanticToken, TokenKind};
pub use value::{Map, MapTable, Value, ValueList};

use std::future::Future;
use std::pin::Pin;

/// An owned future that can move between threads. The traits here are object-safe, so their
/// asynchronous methods return it.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
