//! Tools from definitions (HTTP, gRPC and MCP), all tools of an MCP server, and [built-in
//! tools](builtin) for search, documents and files. This crate implements the protocols. Callers
//! store the definitions and call the tools.
//!
//! Where comments name ai-prompt-shell or Chat Shell: those are the Go prompt service and the
//! Python agent service whose tool definitions and clients Quillet supports.
//!
//! ```no_run
//! use quillet_core::tool::{ToolBuilder, ToolContext};
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let tools = quillet_tools::Tools::new(quillet_tools::ToolsConfig::default())?;
//! let definition = r#"{"type": "restful", "url": "http://127.0.0.1:8080/translate",
//!     "parameters": [{"name": "code", "type": "string", "required": true}]}"#;
//! let built = tools.build("translate", "translate", "tools:translate", definition).map_err(|_| "invalid")?;
//! let arguments = [("code", "你好".into())].into_iter().collect();
//! let result = built.tool.call(arguments, &ToolContext::default()).await?;
//! # Ok(()) }
//! ```

// Without a feature, code that only this feature uses would be reported as dead.
#![cfg_attr(not(all(feature = "grpc", feature = "mcp")), allow(dead_code))]

pub mod address;
pub mod builtin;
mod config;
mod deadline;
mod defined;
mod definition;
mod field_location;
mod flight;
#[cfg(feature = "grpc")]
mod grpc;
#[cfg(not(feature = "grpc"))]
#[path = "grpc_disabled.rs"]
mod grpc;
mod headers;
mod http;
mod mcp;
mod module;
mod network;
mod parameters;
mod pool;
mod reader;
mod restful;
mod returns;
pub mod serve;
mod servers;
mod setting;
mod tools;
mod web;

pub use config::{McpServerConfig, McpWire, ModuleConfig, ModuleUrls, ToolsConfig};
pub use mcp::{McpOrigin, McpServers, McpTools};
pub use network::{Lookup, SystemLookup};
pub use setting::ConfigError;
pub use tools::Tools;
