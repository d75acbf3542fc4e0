//! The HTTP server: routes, errors, streaming, OpenAPI, metrics and connections. Only this crate
//! uses status codes and HTTP bodies.
//!
//! [`HttpServer::bind`] opens the port, and [`HttpServer::run`] serves a
//! [`PromptService`](quillet_prompt::PromptService) until shutdown is requested. The caller loads
//! the service and follows its store.
//!
//! ```no_run
//! use std::sync::Arc;
//! use quillet_prompt::PromptService;
//! use quillet_server::{HttpServer, ServerConfig, ServerError};
//!
//! async fn serve(prompts: Arc<PromptService>) -> Result<(), ServerError> {
//!     let config = ServerConfig { prefix: "/prompts".into(), ..ServerConfig::default() };
//!     let server = HttpServer::bind(config, prompts).await?;
//!     println!("http://{}", server.local_addr());
//!     server.run(async { tokio::signal::ctrl_c().await.unwrap_or(()) }).await;
//!     Ok(())
//! }
//! ```
//!
//! Clients of three existing services work with Quillet unchanged: ai-prompt-shell (prompts, in
//! Go), Chat Shell (agents, in Python) and table-chat (questions to databases, in Python). Comments
//! name the service that defined a path, a member or a status.

// Without the feature, code that only databases use is dead.
#![cfg_attr(not(feature = "sql"), allow(dead_code))]

mod aliases;
mod api;
mod app;
mod auth;
mod batch;
mod browser;
mod budget;
mod caller;
mod compat_routes;
mod config;
mod connection;
mod console;
mod describe;
mod error;
mod extract;
mod fast_router;
mod health;
mod host;
mod inflate;
mod mcp;
mod mcp_doors;
mod metrics;
mod middleware;
mod openapi;
mod rate;
mod request_context;
mod requirements;
mod revision;
mod route;
mod routes;
mod server;
mod services;
#[cfg(feature = "sql")]
mod sql;
#[cfg(not(feature = "sql"))]
#[path = "sql_disabled.rs"]
mod sql;
mod warning;

pub use batch::LocalWork;
pub use config::{NamedToken, Rate, ServerConfig};
pub use server::{HttpServer, ServerError};
pub use services::Services;
