//! MCP server: prompts and tools for MCP clients, over stdio and streamable HTTP. An [`McpBackend`]
//! provides them.
//!
//! Revisions from 2024-11-05 on are supported, including the newest; the library negotiates. Over
//! HTTP every request is independent, so any replica can answer it.

#[cfg(not(feature = "mcp"))]
#[path = "transport_disabled.rs"]
mod transport;
#[cfg(feature = "mcp")]
mod transport;

use std::fmt;
use std::sync::Arc;

use http_body_util::combinators::BoxBody;
use hyper::Response;
use hyper::body::Bytes;
use quillet_core::journal::{Decision, PendingApproval};
use quillet_core::tool::{Tool, ToolError, ToolErrorKind, ToolSpec};
use quillet_core::{BoxFuture, Map, Message};

pub use transport::{AVAILABLE, HttpTransport, stdio};

/// An answer to one request.
pub type HttpAnswer = Response<BoxBody<Bytes, std::convert::Infallible>>;

/// Provides the prompts and tools of the MCP server. The server queries this for every request, so
/// that changes apply immediately.
pub trait McpBackend: Send + Sync + fmt::Debug + 'static {
    /// Instructions for the model of the client.
    fn instructions(&self) -> Option<String> {
        None
    }

    /// The tools, in a stable order.
    fn tools(&self) -> Vec<Arc<dyn Tool>>;

    /// Agents, as tools whose calls may need approval. Default none.
    fn agents(&self) -> BoxFuture<'_, Vec<ToolSpec>> {
        Box::pin(std::future::ready(Vec::new()))
    }

    /// Calls an agent.
    ///
    /// # Errors
    /// The error for the client.
    fn ask<'a>(
        &'a self,
        name: &'a str,
        _arguments: Map,
    ) -> BoxFuture<'a, Result<AgentReply, ToolError>> {
        let message = format!("unknown agent {name}");
        let error = ToolError::new(ToolErrorKind::Unknown, message);
        Box::pin(std::future::ready(Err(error)))
    }

    /// Records decisions about pending calls of a run, by call id, and resumes the run.
    ///
    /// # Errors
    /// The error for the client.
    fn go_on<'a>(
        &'a self,
        run: &'a str,
        _decisions: Vec<(String, Decision)>,
    ) -> BoxFuture<'a, Result<AgentReply, ToolError>> {
        let message = format!("unknown run {run}");
        let error = ToolError::new(ToolErrorKind::Unknown, message);
        Box::pin(std::future::ready(Err(error)))
    }

    /// The prompts, in a stable order.
    fn prompts(&self) -> Vec<PromptOffer>;

    /// Renders a prompt. Arguments of MCP prompts are strings.
    ///
    /// # Errors
    /// The error for the client, which also states whether the request or the server caused it.
    fn render<'a>(
        &'a self,
        name: &'a str,
        arguments: Map,
    ) -> BoxFuture<'a, Result<Vec<Message>, NotRendered>>;
}

/// Result of an agent request.
#[derive(Clone, Debug, PartialEq)]
pub enum AgentReply {
    /// The answer.
    Done(String),
    /// Calls are pending approval.
    Waits {
        /// The run's id.
        run: String,
        /// The calls.
        calls: Vec<PendingApproval>,
    },
}

/// A prompt, as shown in lists.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PromptOffer {
    /// Its name.
    pub name: String,
    /// Display name.
    pub title: Option<String>,
    /// Description.
    pub description: Option<String>,
    /// Arguments.
    pub arguments: Vec<PromptArgument>,
}

/// An argument of a prompt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PromptArgument {
    /// Its name.
    pub name: String,
    /// Description.
    pub description: Option<String>,
    /// Whether the argument is required.
    pub required: bool,
}

/// Error for a prompt that could not be rendered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotRendered {
    /// The client's request is invalid.
    #[error("{0}")]
    Asked(String),
    /// The server failed.
    #[error("{0}")]
    Failed(String),
}
