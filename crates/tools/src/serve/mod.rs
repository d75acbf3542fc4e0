//! The other side of MCP: prompts and tools handed out to MCP clients, over stdio
//! and streamable HTTP. What is handed out comes through [`McpBackend`].
//!
//! Revisions from 2024-11-05 on are spoken, the newest too; the library negotiates.
//! Over HTTP no request needs an earlier one: any replica can answer it.

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

/// What the MCP server offers to its clients. Asked again for every request, so that changes count
/// at once.
pub trait McpBackend: Send + Sync + fmt::Debug + 'static {
    /// How to use what is here, for the model at the other end.
    fn instructions(&self) -> Option<String> {
        None
    }

    /// The tools, in a stable order.
    fn tools(&self) -> Vec<Arc<dyn Tool>>;

    /// Agents, as tools whose calls may wait for somebody; none where nothing else is said.
    fn agents(&self) -> BoxFuture<'_, Vec<ToolSpec>> {
        Box::pin(std::future::ready(Vec::new()))
    }

    /// Asks an agent.
    ///
    /// # Errors
    /// What the client reads of it.
    fn ask<'a>(
        &'a self,
        name: &'a str,
        _arguments: Map,
    ) -> BoxFuture<'a, Result<AgentReply, ToolError>> {
        let message = format!("there is no agent {name}");
        let error = ToolError::new(ToolErrorKind::Unknown, message);
        Box::pin(std::future::ready(Err(error)))
    }

    /// Decides about calls of a run that waits, by their ids, and goes on with it.
    ///
    /// # Errors
    /// What the client reads of it.
    fn go_on<'a>(
        &'a self,
        run: &'a str,
        _decisions: Vec<(String, Decision)>,
    ) -> BoxFuture<'a, Result<AgentReply, ToolError>> {
        let message = format!("there is no run {run}");
        let error = ToolError::new(ToolErrorKind::Unknown, message);
        Box::pin(std::future::ready(Err(error)))
    }

    /// The prompts, in a stable order.
    fn prompts(&self) -> Vec<PromptOffer>;

    /// Renders a prompt. MCP's arguments of prompts are texts.
    ///
    /// # Errors
    /// What to tell the client, and whose fault it is.
    fn render<'a>(
        &'a self,
        name: &'a str,
        arguments: Map,
    ) -> BoxFuture<'a, Result<Vec<Message>, NotRendered>>;
}

/// What came of asking an agent.
#[derive(Clone, Debug, PartialEq)]
pub enum AgentReply {
    /// Its answer.
    Done(String),
    /// Calls wait for somebody to decide.
    Waits {
        /// The run's id.
        run: String,
        /// The calls.
        calls: Vec<PendingApproval>,
    },
}

/// A prompt, for lists.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PromptOffer {
    /// Its name.
    pub name: String,
    /// What people call it.
    pub title: Option<String>,
    /// What it is for.
    pub description: Option<String>,
    /// What it takes.
    pub arguments: Vec<PromptArgument>,
}

/// An argument of a prompt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PromptArgument {
    /// Its name.
    pub name: String,
    /// What it is.
    pub description: Option<String>,
    /// Whether it has to be given.
    pub required: bool,
}

/// The error of a prompt that was not rendered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotRendered {
    /// The client asked for something that is not there, or gave wrong arguments.
    #[error("{0}")]
    Asked(String),
    /// It failed here.
    #[error("{0}")]
    Failed(String),
}
