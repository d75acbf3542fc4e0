//! What a process hosts besides prompts: agents, scripts and databases of a store, what MCP
//! clients are offered, what is counted, and where traces go. No HTTP server here: `quillet-server`
//! is one way to it, the command line is another.

// What serves a missing part alone is in no one's way.
#![cfg_attr(not(feature = "sql"), allow(dead_code))]

pub mod agent;
pub mod counters;
mod mcp;
mod otlp;
pub mod script;
#[cfg(feature = "sql")]
pub mod sql;
#[cfg(not(feature = "sql"))]
#[path = "sql_missing.rs"]
pub mod sql;

pub use mcp::StoredOffer;
pub use otlp::{OtlpConfig, OtlpError, OtlpSink};
