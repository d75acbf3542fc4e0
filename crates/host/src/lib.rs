//! Services of a process in addition to prompts: agents, scripts, databases of a store, an MCP
//! catalogue, metrics and trace export. The crate does not include an HTTP server: `quillet-server`
//! and the command line are built on it.
//!
//! ```
//! use quillet_host::counters::{ByCode, head, line};
//!
//! let errors = ByCode::default();
//! errors.count("timeout");
//! let mut page = String::new();
//! head(&mut page, "quillet_runs", "gauge", "Runs that are under way.");
//! line(&mut page, "quillet_runs", "", 3);
//! assert_eq!(page.lines().last(), Some("quillet_runs 3"));
//! assert_eq!(errors.sum(), 1);
//! ```

// Without a feature, code that only this feature uses would be reported as dead.
#![cfg_attr(not(feature = "sql"), allow(dead_code))]

pub mod agent;
pub mod counters;
pub mod definitions;
mod mcp;
mod otlp;
pub mod script;
#[cfg(feature = "sql")]
pub mod sql;
#[cfg(not(feature = "sql"))]
#[path = "sql_disabled.rs"]
pub mod sql;
mod tool_ids;

pub use mcp::StoredOffer;
pub use otlp::{OtlpConfig, OtlpError, OtlpSink};
